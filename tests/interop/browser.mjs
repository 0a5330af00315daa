// Chromium at the end of a pipe: one JSON command a line in, one JSON answer a line out.
//   {"do":"open","url":U}                goes there and waits until the page has loaded
//   {"do":"fetch","url":U}               GETs it as a link preview does: no script, no cookie; answers the status
//   {"do":"wait","selector":S,"text":T}  waits until an element of S contains T
//   {"do":"text","selector":S}           the visible text of every element of S
//   {"do":"where"}                       the page's address and what it loaded from other origins
//   {"do":"shoot","path":P}              writes a picture of the whole page
//   {"do":"back"}                        one page back in the history
//   {"do":"press","selector":S}          clicks, and waits for the page that this leads to
//   {"do":"fill","selector":S,"text":T}  leaves T in a field
//   {"do":"send","method":M,"path":P,"body":B}  a script of the page sends a request; answers status and JSON
//   {"do":"scripts","on":false}          whether pages may run scripts
//   {"do":"forget"}                      a fresh browser profile: no cookies, no history
import { createInterface } from 'node:readline'
import puppeteer from 'puppeteer-core'

const browser = await puppeteer.launch({
  executablePath: process.argv[2],
  headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-dev-shm-usage'],
})
let context, page, requested

async function forget() {
  await context?.close()
  context = await browser.createBrowserContext()
  page = await context.newPage()
  requested = []
  page.on('request', (request) => requested.push(request.url()))
  await page.setViewport({ width: 1200, height: 800, deviceScaleFactor: 1 })
}

const commands = {
  forget,
  async open({ url }) {
    const answer = await page.goto(url, { waitUntil: 'load' })
    return { status: answer?.status() }
  },
  async fetch({ url }) {
    return { status: (await fetch(url)).status }
  },
  async wait({ selector, text }) {
    const found = (s, t) => [...document.querySelectorAll(s)].some((e) => e.checkVisibility() && e.innerText.includes(t))
    await page.waitForFunction(found, { timeout: 30_000 }, selector, text)
  },
  async text({ selector }) {
    const seen = (all) => all.filter((e) => e.checkVisibility()).map((e) => e.innerText)
    return { text: await page.$$eval(selector, seen) }
  },
  async back() {
    await page.goBack()
  },
  async press({ selector }) {
    // Not by the mouse: what a script still adds above moves the element away from under it.
    const click = (element) => {
      if (!element.checkVisibility() || element.disabled) throw new Error('it is not to be pressed')
      element.click()
    }
    await Promise.all([page.waitForNavigation(), page.$eval(selector, click)])
  },
  async fill({ selector, text }) {
    await page.$eval(selector, (field, value) => { field.value = value }, text)
  },
  async send({ method, path, body }) {
    const send = async (method, path, body) => {
      const headers = body === null ? {} : { 'content-type': 'application/json' }
      const answer = await fetch(path, { method, headers, body: body === null ? undefined : JSON.stringify(body) })
      return { status: answer.status, body: await answer.json() }
    }
    return page.evaluate(send, method, path, body ?? null)
  },
  async scripts({ on }) {
    await page.setJavaScriptEnabled(on)
  },
  async where() {
    return { url: page.url(), requested }
  },
  async shoot({ path }) {
    await page.screenshot({ path, fullPage: true })
  },
}

await forget()
console.log(JSON.stringify({ ok: true }))
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  try {
    console.log(JSON.stringify({ ok: true, ...(await commands[command.do](command)) }))
  } catch (error) {
    const body = await page.evaluate(() => document.body.innerText).catch(() => '')
    console.log(JSON.stringify({ ok: false, error: String(error?.message ?? error), body }))
  }
}
await browser.close()
