// How soon pages of a busy account are shown, and how they scroll: `node measure.mjs CHROMIUM LINK DESK TOKEN WALLET`.
// TOKEN is the file with an operator's token. Prints one line of JSON, a row for each page. For the benchmarks.
import { readFileSync } from 'node:fs'
import { Browser, until } from './browser.mjs'

const [chromium, link, desk, tokenFile, wallet] = process.argv.slice(2)
/** The session is at the address of the link. */
const holder = new URL(link).origin
/** How often a list that grows on demand is made longer before it is scrolled. */
const LONGER = 10

const HOLDER_PAGES = [
  { page: 'home', path: '/dashboard', rows: '.feed > li[data-type]', more: 'Earlier' },
  { page: 'cards', path: '/dashboard/cards', rows: 'main tbody tr' },
  { page: 'transfers', path: '/dashboard/transfers', rows: 'main tbody tr' },
  { page: 'agents', path: '/dashboard/agents', rows: 'main .panel' },
  { page: 'statement, everything', path: '/dashboard/statement?from=2020-01-01', rows: 'main tbody tr' },
  { page: 'webhooks', path: '/dashboard/webhooks', rows: 'main .panel, main .empty' },
]
const DESK_PAGES = [{ page: 'desk: customer', path: `/desk/customers/${wallet}`, rows: '.log > li', more: 'Further back' }]

/** Runs in the page before its scripts: notes when its content is there, and when it reacts after that. */
function watch(rows) {
  const seen = { shown: 0, interactive: 0 }
  window.measured = seen
  const look = () => {
    const isThere = document.querySelector(rows) !== null && document.querySelector('main [aria-busy=true]') === null
    if (!isThere) {
      requestAnimationFrame(look)
      return
    }
    // The frame in which it is painted has ended when the next one begins.
    requestAnimationFrame((time) => {
      seen.shown = time
      setTimeout(() => {
        seen.interactive = performance.now()
      }, 0)
    })
  }
  requestAnimationFrame(look)
}

/** Scrolls to the end of the page, half a screen a frame, and notes the time between frames. */
function scroll() {
  return new Promise((resolve) => {
    const gaps = []
    let before = 0
    const step = (time) => {
      if (before > 0) gaps.push(time - before)
      before = time
      const at = window.scrollY
      window.scrollBy(0, window.innerHeight / 2)
      if (window.scrollY === at) resolve(gaps)
      else requestAnimationFrame(step)
    }
    window.scrollTo(0, 0)
    requestAnimationFrame(step)
  })
}

async function measure(visitor, origin, { page, path, rows, more }) {
  const script = await visitor.page.evaluateOnNewDocument(watch, rows)
  await visitor.page.goto(origin + path, { waitUntil: 'domcontentloaded' })
  const { shown, interactive } = await until(`the content of ${page}`, () =>
    visitor.page.evaluate(() => (window.measured?.interactive > 0 ? window.measured : null)).catch(() => null),
  )
  await visitor.page.removeScriptToEvaluateOnNewDocument(script.identifier)
  const count = () => visitor.page.$$eval(rows, (all) => all.length)
  for (let times = 0; more && times < LONGER; times += 1) {
    const before = await count()
    const pressed = await visitor.page.evaluate((text) => {
      const button = [...document.querySelectorAll('main button')].find((one) => one.innerText.includes(text) && !one.disabled)
      button?.click()
      return button !== undefined
    }, more)
    if (!pressed) break
    await until(`more of ${page}`, async () => (await count()) > before || null)
  }
  const gaps = await visitor.page.evaluate(scroll)
  return {
    page,
    shown_ms: shown,
    interactive_ms: interactive,
    rows: await count(),
    frames: gaps.length,
    slow_frames: gaps.filter((gap) => gap > 50).length,
    longest_frame_ms: Math.max(0, ...gaps),
  }
}

const browser = await Browser.start(chromium)
const found = []
try {
  const owner = await browser.visitor()
  await owner.open(link)
  await until('the session', () => owner.page.evaluate(() => fetch('/account').then((answer) => answer.ok || null)).catch(() => null))
  for (const page of HOLDER_PAGES) found.push(await measure(owner, holder, page))
  await owner.close()

  const operator = await browser.visitor()
  await operator.passkeyDevice()
  await operator.open(`${desk}/desk`)
  await operator.sees('h1', 'Sign in')
  await operator.page.$eval('details', (details) => {
    details.open = true
  })
  await operator.fill('input[type=password]', readFileSync(tokenFile, 'utf8').trim())
  await operator.press('button', 'Sign in with token')
  // The first time the operator has to add a passkey.
  const title = await until('the desk', async () => /Add your passkey|Home/.exec(await operator.text('h1'))?.[0])
  if (title === 'Add your passkey') await operator.press('button', 'Add passkey')
  await operator.sees('.connection', 'Live')
  for (const page of DESK_PAGES) found.push(await measure(operator, desk, page))
} finally {
  await browser.close()
}
console.log(JSON.stringify(found))
