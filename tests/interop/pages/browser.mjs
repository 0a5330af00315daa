// Chromium for the tests of the pages: pages that notice their own errors, accessibility checks, and pictures.
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import puppeteer from 'puppeteer-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** A phone and a desktop. */
export const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1440, height: 900 } }
/** The least width that a page must fit in, a desktop at 200 %, and a desktop whose browser shows text at 200 %. */
const ENLARGED = {
  '320 px': { width: 320, height: 640 },
  'zoom 200 %': { width: 720, height: 450 },
  'text 200 %': { ...SIZES.desktop, text: 32 },
}
/** What browsers have by default, in pixels. */
const TEXT = 16
const SCHEMES = ['light', 'dark']
const PATIENCE_MS = 30_000

/** Fails a test with the sentence. */
export function check(condition, sentence) {
  if (!condition) throw new Error(sentence)
}

/** Repeats until it answers something other than false, null and undefined. */
export async function until(what, ask, patience = PATIENCE_MS) {
  const end = Date.now() + patience
  for (;;) {
    const found = await ask()
    if (found !== false && found !== null && found !== undefined) return found
    if (Date.now() > end) throw new Error(`waited too long: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

export class Browser {
  #browser
  #pictures

  static async start(program) {
    const browser = new Browser()
    browser.#pictures = process.env.PURSER_PICTURES
    browser.#browser = await puppeteer.launch({
      executablePath: program,
      headless: true,
      args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-dev-shm-usage'],
    })
    return browser
  }

  /** A browser profile of its own, with one page. */
  async visitor(options = {}) {
    const context = await this.#browser.createBrowserContext()
    const visitor = new Visitor(context, await context.newPage(), this.#pictures)
    await visitor.begin(options)
    return visitor
  }

  /** What the open pages show: what a failed scenario saw. */
  async shows() {
    const texts = []
    for (const context of this.#browser.browserContexts()) {
      for (const page of await context.pages()) {
        const shown = await page.evaluate(() => document.body?.innerText ?? '').catch((error) => `no answer: ${error.message}`)
        if (page.url() !== 'about:blank') texts.push(`${page.url()} shows:\n${shown}`)
      }
      // The next scenario begins without them.
      if (context !== this.#browser.defaultBrowserContext()) await context.close().catch(() => {})
    }
    return texts.join('\n')
  }

  async close() {
    await this.#browser.close()
  }
}

/** A person with a browser. Whatever the browser reports as an error is kept in `problems`. */
export class Visitor {
  problems = []
  requested = []
  #expected = []
  #context
  #pictures

  constructor(context, page, pictures) {
    this.#context = context
    this.page = page
    this.#pictures = pictures
  }

  async begin({ size = 'desktop', scripts = true } = {}) {
    const { page } = this
    page.setDefaultTimeout(PATIENCE_MS)
    await page.setViewport({ ...SIZES[size], deviceScaleFactor: 1 })
    await page.setJavaScriptEnabled(scripts)
    page.on('request', (request) => this.requested.push(request.url()))
    page.on('pageerror', (error) => this.#note(`exception: ${error?.message ?? error}`))
    page.on('console', (message) => {
      const at = message.location()?.url ?? ''
      // The browser reports a page whose own status is 4xx.
      const isOwnStatus = at === page.url() && message.text().startsWith('Failed to load resource')
      if (['error', 'warn', 'assert'].includes(message.type()) && !isOwnStatus) this.#note(`${message.text()} (${at})`)
    })
    this.cdp = await page.createCDPSession()
    await this.cdp.send('Audits.enable')
    this.cdp.on('Audits.issueAdded', ({ issue }) => {
      if (issue.code !== 'ContentSecurityPolicyIssue') return
      this.#note(`policy: ${JSON.stringify(issue.details.contentSecurityPolicyIssueDetails)}`)
    })
  }

  #note(problem) {
    if (!this.#expected.some((pattern) => pattern.test(problem))) this.problems.push(problem)
  }

  /** From now on, reports like this are part of the test. */
  expects(pattern) {
    this.#expected.push(pattern)
  }

  /** No error, no violated policy, and nothing requested from another origin. */
  assertClean(origin) {
    check(this.problems.length === 0, `the browser reports: ${this.problems.join('\n')}`)
    const isOwn = (url) => url.startsWith(origin) || url.startsWith(origin.replace(/^http/, 'ws')) || /^(data|blob|about):/.test(url)
    const others = this.requested.filter((url) => !isOwn(url))
    check(others.length === 0, `requested from other origins: ${others.join(' ')}`)
  }

  async open(url) {
    const response = await this.page.goto(url, { waitUntil: 'load' })
    return response.status()
  }

  /** Waits until a visible element contains the text. */
  async sees(selector, text, patience = PATIENCE_MS) {
    const found = (s, t) =>
      [...document.querySelectorAll(s)].some((element) => element.checkVisibility() && element.innerText.replace(/\s+/g, ' ').includes(t))
    try {
      await this.page.waitForFunction(found, { timeout: patience, polling: 50 }, selector, text)
    } catch (error) {
      const shown = await this.page.evaluate(() => document.body.innerText).catch(() => '')
      throw new Error(`"${text}" in ${selector}: ${error.message}\nThe page shows:\n${shown}\nReported: ${this.problems.join('\n')}`)
    }
  }

  /** The visible text of all such elements. */
  async text(selector = 'body') {
    const seen = (all) => all.filter((element) => element.checkVisibility()).map((element) => element.innerText)
    return (await this.page.$$eval(selector, seen)).join('\n')
  }

  async count(selector) {
    return (await this.page.$$(selector)).length
  }

  /** Clicks the visible element with this text, or the only one. */
  async press(selector, text = '') {
    const found = await until(`${selector} "${text}"`, () =>
      this.page.evaluateHandle(
        (s, t) =>
          [...document.querySelectorAll(s)].find(
            (element) => element.checkVisibility() && !element.disabled && `${element.innerText} ${element.ariaLabel ?? ''}`.replace(/\s+/g, ' ').includes(t),
          ) ?? null,
        selector,
        text,
      ).then((handle) => handle.asElement()),
    )
    // Not by the mouse: content that is added above would move the element away from under it.
    await found.evaluate((element) => element.click())
  }

  /** The same for an element that leads to another page. */
  async follow(selector, text = '') {
    await Promise.all([this.page.waitForNavigation(), this.press(selector, text)])
  }

  async fill(selector, text) {
    await this.page.waitForSelector(selector)
    await this.page.$eval(
      selector,
      (field, value) => {
        field.focus()
        // Frameworks replace the property of the element, so the prototype's is called.
        Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, value)
        field.dispatchEvent(new Event('input', { bubbles: true }))
        field.dispatchEvent(new Event('change', { bubbles: true }))
      },
      text,
    )
  }

  /** Everything that stays in the browser or can be read by who looks over the shoulder. */
  async kept() {
    return this.page.evaluate(() =>
      JSON.stringify({
        html: document.documentElement.outerHTML,
        local: { ...localStorage },
        session: { ...sessionStorage },
        cookies: document.cookie,
        state: history.state,
        address: location.href,
      }),
    )
  }

  /** Resizes without a reload, in light or dark. */
  async looks(size, scheme) {
    await this.page.setViewport({ ...SIZES[size], deviceScaleFactor: 1 })
    await this.page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: scheme },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ])
    await this.settled()
  }

  /**
   * Checks accessibility and width of what the page shows now, on a phone and a desktop, light and dark; that nothing is
   * lost when it is enlarged; and the order in which it is read.
   */
  async inspect(name) {
    const found = []
    const before = this.page.viewport()
    for (const size of Object.keys(SIZES)) {
      for (const scheme of SCHEMES) {
        await this.looks(size, scheme)
        const where = `${name}, ${size}, ${scheme}`
        const wide = await this.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
        if (wide > 0) found.push(`${where}: ${wide} px too wide`)
        for (const violation of await this.violations()) found.push(`${where}: ${violation}`)
        if (scheme === 'light') for (const wrong of await this.reading()) found.push(`${where}: ${wrong}`)
        if (this.#pictures) {
          mkdirSync(this.#pictures, { recursive: true })
          await this.page.screenshot({ path: path.join(this.#pictures, `${name}-${size}-${scheme}.png`), fullPage: true })
        }
      }
    }
    for (const [where, view] of Object.entries(ENLARGED)) {
      for (const lost of await this.enlarged(view)) found.push(`${name}, ${where}: ${lost}`)
    }
    await this.page.setViewport(before)
    check(found.length === 0, found.join('\n'))
  }

  async settled() {
    await this.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
  }

  /** What is too wide, cut or covered in such a view. */
  async enlarged({ width, height, text = TEXT }) {
    await this.page.setViewport({ width, height, deviceScaleFactor: 1 })
    await this.cdp.send('Page.setFontSizes', { fontSizes: { standard: text, fixed: Math.round(text * 0.8125) } })
    // A person sets the size before opening a menu; an open one is placed again.
    await this.page.evaluate(() => { dispatchEvent(new Event('resize')) })
    await this.settled()
    const lost = await this.page.evaluate(lostWhenEnlarged)
    if (text !== TEXT) await this.cdp.send('Page.setFontSizes', { fontSizes: { standard: TEXT, fixed: 13 } })
    return lost
  }

  /** What is wrong with the order and the parts of what a screen reader reads. */
  async reading() {
    const found = await this.page.evaluate(wrongOrder)
    const { nodes } = await this.cdp.send('Accessibility.getFullAXTree')
    const controls = ['button', 'link', 'textbox', 'searchbox', 'combobox', 'checkbox', 'radio', 'dialog', 'img', 'table']
    const nameless = nodes.filter((node) => !node.ignored && controls.includes(node.role?.value) && !node.name?.value?.trim())
    if (nameless.length > 0) found.push(`without a name: ${nameless.map((node) => node.role.value).join(', ')}`)
    return found
  }

  async violations() {
    // Evaluated by the debugger, so that the page's policy needs no exception.
    if (!(await this.page.evaluate(() => 'axe' in window))) await this.page.evaluate(AXE)
    return this.page.evaluate(async (rules) => {
      // It counts the letters of avatars as text of their buttons. They are decoration, hidden from screen readers.
      const off = { 'label-content-name-mismatch': { enabled: false } }
      const result = await window.axe.run(document, { runOnly: rules, rules: off, resultTypes: ['violations'] })
      return result.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`)
    }, RULES)
  }

  /** A passkey device without a person: it confirms by itself. It can have the passkeys of an earlier one. */
  async passkeyDevice(passkeys = []) {
    await this.cdp.send('WebAuthn.enable', { enableUI: false })
    const { authenticatorId } = await this.cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        ctap2Version: 'ctap2_1',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    for (const credential of passkeys) await this.cdp.send('WebAuthn.addCredential', { authenticatorId, credential })
    return {
      credentials: async () => (await this.cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
      refuse: (refused) => this.cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: !refused }),
    }
  }

  async close() {
    await this.#context.close()
  }
}

/** Runs in the page: what is too wide, cut, or cannot be reached. */
function lostWhenEnlarged() {
  const found = []
  const said = (element) => `<${element.localName} class="${element.className?.baseVal ?? element.className}"> ${(element.innerText || element.ariaLabel || element.title || '').trim().slice(0, 60)}`
  const root = document.documentElement
  if (root.scrollWidth > root.clientWidth) {
    const wide = [...document.querySelectorAll('body *')].filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && element.checkVisibility())
    found.push(`${root.scrollWidth - root.clientWidth} px too wide: ${wide.slice(-3).map(said).join(' | ')}`)
  }
  const before = { x: scrollX, y: scrollY }
  // Behind a dialog or a menu nothing can be reached, and needs not.
  const whole = document.querySelector('.menu:popover-open') ?? document.querySelector('dialog[open]') ?? document.body
  const aside = '.only-read, [aria-hidden=true], svg, pre, .uplot'
  for (const element of whole.querySelectorAll('*')) {
    if (element.closest(aside) || !element.checkVisibility() || !element.innerText?.trim()) continue
    const style = getComputedStyle(element)
    // Read aloud only.
    if (style.clipPath !== 'none' || element.closest('thead')?.clientWidth === 1) continue
    const isShort = style.textOverflow === 'ellipsis' && element.scrollWidth > element.clientWidth + 1 && element.clientWidth < 3 * Number.parseFloat(style.fontSize)
    if (isShort) found.push(`cut to nothing: ${said(element)}`)
    const hides = /hidden|clip/.test(style.overflowX) && style.textOverflow !== 'ellipsis'
    if (hides && element.scrollWidth > element.clientWidth + 1) found.push(`cut: ${said(element)}`)
    if (/hidden|clip/.test(style.overflowY) && element.scrollHeight > element.clientHeight + 2 && element.clientHeight > 2) found.push(`cut below: ${said(element)}`)
  }
  for (const control of whole.querySelectorAll('a[href], button, input, select, textarea, summary')) {
    if (control.closest('.only-read, .toasts') || !control.checkVisibility({ visibilityProperty: true }) || control.matches('.skip, [type=hidden]')) continue
    control.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' })
    const [box] = control.getClientRects()
    if (!box || box.width === 0) continue
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2]
    if (x < 0 || x > innerWidth || y < 0 || y > innerHeight) {
      found.push(`out of reach: ${said(control)}`)
      continue
    }
    const hit = document.elementFromPoint(x, y)
    const own = hit && (control.contains(hit) || hit.contains(control) || control.closest('label')?.contains(hit) || hit.closest('.toasts'))
    if (!own) found.push(`${said(control)} is covered by ${hit ? said(hit) : 'nothing'}`)
  }
  scrollTo(before.x, before.y)
  return found
}

/** Runs in the page: headings, landmarks, live regions and the order of the tab key. */
function wrongOrder() {
  const found = []
  const shown = (element) => element.checkVisibility({ visibilityProperty: true })
  const headings = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(shown)
  const dialog = document.querySelector('dialog[open]')
  const ofPage = headings.filter((heading) => !heading.closest('dialog'))
  const levels = ofPage.map((heading) => Number(heading.localName[1]))
  if (levels.filter((level) => level === 1).length !== 1) found.push(`${levels.filter((level) => level === 1).length} headings of the first level`)
  if (levels[0] !== 1) found.push(`the first heading is "${ofPage[0]?.innerText}"`)
  levels.forEach((level, at) => {
    if (level > (levels[at - 1] ?? 0) + 1) found.push(`"${ofPage[at].innerText}" skips a level`)
  })
  if (dialog && dialog.querySelector('h2') === null) found.push('a dialog without a heading')
  const mains = [...document.querySelectorAll('main')].filter(shown)
  if (mains.length !== 1 || !mains[0].contains(ofPage[0] ?? null)) found.push('the first heading is not in the one main part')
  const positive = document.querySelectorAll('[tabindex]:not([tabindex="0"]):not([tabindex="-1"])')
  if (positive.length > 0) found.push('an order of the tab key besides that of the page')
  if (document.querySelector('[aria-live=assertive]')) found.push('a live region that interrupts')
  const skip = document.querySelector('.skip')
  const first = document.querySelector('a[href], button, input, select, textarea, summary')
  if (skip && first !== skip) found.push('the link that skips is not the first')
  if (document.title.trim() === '' || document.documentElement.lang === '') found.push('no title or no language')
  // In one column, what is read earlier stands higher.
  if (innerWidth < 640 && !dialog) {
    const tops = ofPage.filter((heading) => heading.offsetWidth > 1).map((heading) => [heading.getBoundingClientRect().top, heading.innerText])
    tops.forEach(([top, text], at) => {
      if (at > 0 && top < tops[at - 1][0] - 1) found.push(`"${text}" is read after "${tops[at - 1][1]}" and stands above it`)
    })
  }
  return found
}
