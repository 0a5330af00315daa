// Chromium for the tests of the pages: pages that notice their own errors, accessibility checks, and pictures.
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import puppeteer from 'puppeteer-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** A phone and a desktop. */
export const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1440, height: 900 } }
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
    await this.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
  }

  /** Checks accessibility and width of what the page shows now, on a phone and a desktop, light and dark. */
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
        if (this.#pictures) {
          mkdirSync(this.#pictures, { recursive: true })
          await this.page.screenshot({ path: path.join(this.#pictures, `${name}-${size}-${scheme}.png`), fullPage: true })
        }
      }
    }
    await this.page.setViewport(before)
    check(found.length === 0, found.join('\n'))
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

  /** A passkey device without a person: it confirms by itself. */
  async passkeyDevice() {
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
    return {
      credentials: async () => (await this.cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
      refuse: (refused) => this.cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: !refused }),
    }
  }

  async close() {
    await this.#context.close()
  }
}
