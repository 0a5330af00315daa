// Both apps by the keyboard alone: whole ways of an owner and of an operator, and every control of every page. At each step
// the focus is seen and is never lost.
import { check, until } from './browser.mjs'
import { colleague, loaded, operatorToken, signIn } from './people.mjs'

export const settings = { PURSER_AGENT_WALLET__MAX_CALLS_PER_MINUTE: '1000000' }

/** Presses of the tab key until something must have been found. */
const FAR = 250
/** A desktop at 200 %. */
const ZOOMED = { width: 720, height: 450, deviceScaleFactor: 1 }

/** What a person without a pointer sees and presses. */
class Keyboard {
  constructor(visitor) {
    this.visitor = visitor
    this.page = visitor.page
  }

  /** Where the focus is. Fails if it cannot be seen. */
  async #focus(selector = '*', text = '') {
    const focus = await this.page.evaluate(stateOfFocus, selector, text)
    if (focus.lost) return focus
    check(focus.ring, `no ring around ${focus.what}`)
    check(focus.seen, `the focus is covered or outside of the window: ${focus.what}`)
    return focus
  }

  async press(...keys) {
    for (const key of keys) await this.page.keyboard.press(key)
  }

  async type(text) {
    await this.page.keyboard.type(text)
  }

  /** The focus is, or comes by itself, to this. */
  async is(selector, text = '') {
    let focus
    await until(`the focus on ${selector} "${text}", not on ${focus?.what ?? 'nothing'}`, async () => {
      focus = await this.#focus(selector, text)
      return focus.is || null
    }, 10_000)
  }

  /** After something has gone, the focus is still somewhere. */
  async isKept(what) {
    await until(`the focus after ${what}`, async () => !(await this.#focus()).lost || null, 3_000)
  }

  /** Presses the tab key until the focus is on this. */
  async to(selector, text = '', { back = false } = {}) {
    // What is waited for may not be there yet.
    await until(`${selector} "${text}"`, () =>
      this.page.evaluate(
        (s, t) => [...document.querySelectorAll(s)].some((one) => one.checkVisibility() && !one.disabled && `${one.innerText} ${one.ariaLabel ?? ''} ${[...(one.labels ?? [])].map((label) => label.innerText).join(' ')}`.replace(/\s+/g, ' ').includes(t)) || null,
        selector,
        text,
      ),
    )
    const seen = []
    if (back) await this.page.keyboard.down('Shift')
    try {
      for (let at = 0; at < FAR; at += 1) {
        await this.press('Tab')
        const focus = await this.#focus(selector, text)
        if (focus.is) return
        seen.push(focus.what ?? 'outside of the page')
      }
    } finally {
      if (back) await this.page.keyboard.up('Shift')
    }
    throw new Error(`the tab key does not come to ${selector} "${text}", only to ${[...new Set(seen)].join(', ')}`)
  }

  /** Tab to it, and press it. */
  async enter(selector, text = '') {
    await this.to(selector, text)
    await this.press('Enter')
  }

  /** To another page by the navigation. */
  async go(name, title = name) {
    await this.enter('.side nav a', name)
    await this.visitor.sees('h1', title)
    await this.is('#main')
    await loaded(this.visitor)
  }

  /** Confirms with the passkey if the page asks for it, until it shows this. */
  async confirmed(selector, text) {
    let confirmed = false
    await until(text, async () => {
      if ((await this.visitor.text(selector)).replaceAll(/\s+/g, ' ').includes(text)) return true
      // Once: the dialog is shown until the passkey has answered.
      if (!confirmed && (await this.visitor.text('dialog button')).includes('Continue with passkey')) {
        await this.enter('dialog button', 'Continue with passkey')
        confirmed = true
      }
      return null
    })
  }

  /** The tab key stays in the open dialog. */
  async isTrapped() {
    for (let at = 0; at < 8; at += 1) {
      await this.press('Tab')
      const focus = await this.#focus('dialog, dialog *')
      check(focus.lost || focus.is, `the focus left the dialog to ${focus.what}`)
    }
  }

  /** Presses the tab key through the whole page and back, and fails for each control that it does not reach. */
  async walk(name) {
    await this.page.evaluate(() => { window.walked = new Set() })
    let outside = 0
    for (let at = 0; at < FAR * 2 && outside < 2; at += 1) {
      await this.press('Tab')
      const focus = await this.#focus()
      if (focus.lost) outside += 1
      else if (await this.page.evaluate(() => (window.walked.has(document.activeElement) ? true : void window.walked.add(document.activeElement)))) break
    }
    const missed = await this.page.evaluate(() => {
      const controls = 'a[href], button:not([disabled]), input:not([disabled]):not([type=hidden]), select:not([disabled]), textarea:not([disabled]), summary, [tabindex="0"]'
      const all = [...document.querySelectorAll(controls)].filter((one) => one.checkVisibility({ visibilityProperty: true }) && !window.walked.has(one))
      return all.map((one) => `<${one.localName}> ${(one.innerText || one.ariaLabel || one.name || '').trim().slice(0, 40)}`)
    })
    check(missed.length === 0, `${name}: not reached: ${missed.join(', ')}`)
    const last = await this.page.evaluate(() => window.walked.size)
    check(last > 3, `${name}: ${last} controls`)
    // And back: no element keeps the focus.
    await this.page.keyboard.down('Shift')
    const back = new Set()
    for (let at = 0; at < 6; at += 1) {
      await this.press('Tab')
      back.add((await this.#focus()).what ?? 'outside')
    }
    await this.page.keyboard.up('Shift')
    check(back.size > 3, `${name}: the focus does not go back: ${[...back].join(', ')}`)
  }
}

/** Runs in the page. */
function stateOfFocus(selector, text) {
  const element = document.activeElement
  if (!element || element === document.body || element === document.documentElement) return { lost: true }
  const labels = [...(element.labels ?? [])].map((label) => label.innerText).join(' ')
  const name = `${element.innerText ?? ''} ${element.ariaLabel ?? ''} ${labels} ${element.title ?? ''}`.replaceAll(/\s+/g, ' ').trim()
  const style = getComputedStyle(element)
  // What is focused so that reading goes on there is not pressed, and needs no ring.
  const isPlace = element.tabIndex < 0
  const ring = style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) >= 2
  const seen = [...element.getClientRects()].some((box) =>
    [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5], [0.5, 0.2], [0.5, 0.8]].some(([x, y]) => {
      const hit = document.elementFromPoint(box.left + box.width * x, box.top + box.height * y)
      return hit && (element.contains(hit) || element.closest('label')?.contains(hit) || hit.closest('.toasts'))
    }),
  )
  return { lost: false, what: `<${element.localName}> "${name.slice(0, 60)}"`, is: element.matches(selector) && name.includes(text), ring: isPlace || ring, seen: isPlace || seen }
}

export const scenarios = {
  async 'an owner does everything by keyboard'({ browser, service }) {
    const agent = service.agent('typist')
    await agent.call('createAgentWallet')
    const courier = await agent.key('Courier')
    await agent.pay('/get-card?amount=20')
    const visitor = await browser.visitor()
    const device = await visitor.passkeyDevice()
    await signIn(visitor, agent)
    visitor.expects(/status of 40[134]/)
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('.connection', 'Live')
    const keys = new Keyboard(visitor)

    await keys.press('Tab')
    await keys.is('.skip', 'Skip to content')
    await keys.press('Enter')
    await keys.is('#main')
    await keys.enter('main button', 'Add money')
    await keys.is('dialog *')
    await keys.isTrapped()
    await keys.press('Escape')
    await keys.is('main button', 'Add money')
    await keys.to('a.brand', '', { back: true })

    // A passkey, and its name.
    await keys.go('Settings')
    await keys.enter('main button', 'Add a passkey')
    await keys.is('dialog input', 'Name')
    await keys.press('Enter')
    await until('the passkey', async () => (await device.credentials()).length === 1 || null)
    await visitor.sees('#passkeys', 'Passkey, on')
    await keys.is('main button', 'Add a passkey')
    await keys.enter('#passkeys button', 'More for')
    await keys.is('.menu button', 'Rename')
    await keys.press('ArrowDown')
    await keys.is('.menu button', 'Remove')
    await keys.press('ArrowUp', 'Escape')
    await keys.is('#passkeys button', 'More for')
    await keys.press('Enter')
    await keys.is('.menu button', 'Rename')
    await keys.press('Enter')
    await keys.is('dialog input', 'Name')
    await keys.press('End')
    await keys.type(' at home')
    await keys.press('Enter')
    await visitor.sees('#passkeys', 'at home')
    await keys.isKept('a renaming')

    // A card's number.
    await keys.go('Cards')
    await keys.enter('main a.lead')
    await visitor.sees('main', 'Timeline')
    await keys.is('#main')
    await keys.enter('main button', 'Show number')
    await keys.confirmed('main', 'Hidden again in')
    await keys.isKept('the number is shown')
    await keys.enter('main button', 'Hide')
    await visitor.sees('main button', 'Show number')
    await keys.isKept('the number is hidden')

    // Limits, and an approval.
    await keys.go('Agents', 'Agents and limits')
    await keys.to('main input', 'In one payment')
    await keys.type('1.50')
    await keys.to('main input', 'Ask me about payments')
    await keys.press('Space')
    await keys.enter('main button', 'Save')
    await keys.confirmed('.toasts', 'Limits saved')
    await keys.isKept('saving')
    const worker = service.works({ work: 'asks', token: courier.token, to: await agent.address() })
    await worker.says('asked')
    await keys.enter('main button', 'Look at it')
    await keys.is('dialog *')
    await keys.enter('dialog button', 'Approve once')
    await keys.confirmed('.toasts', 'Approved')
    check((await worker.says('done')).done === 200, 'what was approved is done')
    await worker.end()
    await until('the question is gone', async () => !(await visitor.text('main button')).includes('Look at it') || null)
    await keys.isKept('an approval')

    // Stopping and resuming.
    await keys.go('Home', '')
    await keys.enter('#stop-agents')
    await keys.is('dialog button', 'Cancel')
    await keys.press('Escape')
    await keys.is('#stop-agents')
    await keys.press('Enter')
    await keys.enter('dialog button', 'Stop my agents')
    await visitor.sees('main', 'Your agents were stopped')
    await keys.isKept('a stop')
    await keys.enter('main button', 'Let them act again')
    await keys.confirmed('.toasts', 'may act again')
    await keys.isKept('resuming')

    // Shortcuts, and back.
    await keys.press('g', 't')
    await visitor.sees('h1', 'Transfers')
    await keys.is('#main')
    await visitor.page.goBack()
    await visitor.sees('#stop-agents', '')
    await keys.isKept('going back')
    await keys.press('?')
    await visitor.sees('dialog', 'Keyboard')
    await keys.press('Escape')
    await keys.isKept('the list of shortcuts')

    // Out, and in again.
    await keys.enter('.side-foot button')
    await keys.is('.menu a, .menu button')
    await keys.enter('.menu button', 'Sign out')
    await visitor.sees('h1', 'Sign in')
    await keys.isKept('signing out')
    await keys.enter('main button', 'Sign in with a passkey')
    await visitor.sees('.connection', 'Live')
    await keys.isKept('signing in')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'every control of the dashboard is reached by keyboard, at 200 % too'({ browser, service }) {
    const agent = service.agent('walker')
    await agent.call('createAgentWallet')
    const bought = await agent.pay('/get-card?amount=20')
    const payout = await agent.pay('/get-push-to-card?amount=25&currency=EUR')
    // Lines of the feed that change meanwhile would be other controls.
    let before
    await until('that nothing more happens', async () => {
      const events = (await agent.get('/events?limit=100')).body.events.length
      const isOver = events === before
      before = events
      if (!isOver) await new Promise((resolve) => setTimeout(resolve, 2_000))
      return isOver || null
    })
    const visitor = await browser.visitor()
    await signIn(visitor, agent)
    visitor.expects(/status of 40[134]/)
    const keys = new Keyboard(visitor)
    await visitor.page.setViewport(ZOOMED)
    for (const page of ['', '/cards', `/cards/${bought.card_id}`, '/transfers', `/transfers/${payout.payout_id}`, '/agents', '/statement', '/settings']) {
      await visitor.open(`${service.url}/dashboard${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      await keys.walk(page || 'home')
    }
    await visitor.close()
  },

  async 'an operator does everything by keyboard'({ browser, service }) {
    const traveller = service.agent('traveller')
    await traveller.pay('/order-intl-card?amount=250')
    const bought = await traveller.pay('/get-card?amount=300')
    await until('the card', async () => ((await traveller.get(`/get-card-data?card_id=${bought.card_id}`)).body.status === 'ready') || null)
    const ben = await colleague(service, 'ben')
    await ben.post('/admin/refunds', { payment_id: bought.payment_id, amount: 280, reason: 'The shop never sent it.', holder_keeps_product: true })

    const visitor = await browser.visitor()
    await visitor.passkeyDevice()
    visitor.expects(/status of 40[13]/)
    await visitor.open(`${service.deskUrl}/desk`)
    await visitor.sees('h1', 'Sign in')
    const keys = new Keyboard(visitor)
    await keys.enter('summary')
    await keys.to('input[type=password]')
    await keys.type(operatorToken(service))
    await keys.press('Enter')
    await visitor.sees('h1', 'Add your passkey')
    await keys.isKept('signing in')
    await keys.enter('main button', 'Add passkey')
    await visitor.sees('.connection', 'Live')
    await keys.isKept('adding the passkey')

    // An order.
    await keys.go('Orders', 'International orders')
    await keys.enter('.orders button', 'Claim')
    await keys.is('form input', 'Card number')
    await keys.type('4111111111111111')
    for (const text of ['12/2031', '123', '1 Main Street', 'Springfield', 'IL', '62701']) {
      await keys.press('Tab')
      await keys.type(text)
    }
    await keys.enter('form button', 'Seal and deliver')
    await keys.confirmed('main', '•••• 1111 is delivered')
    await keys.isKept('the delivery')

    // A decision of two people.
    await keys.go('Refunds')
    await keys.enter('main button', 'Approve')
    await keys.is('dialog input', 'Type the amount')
    await keys.isTrapped()
    await keys.to('dialog input', 'Type the amount')
    await keys.type('280')
    await keys.press('Enter')
    await keys.confirmed('.toasts', 'credited to its holder')
    await keys.isKept('the decision')

    // Any id or number.
    await keys.press('/')
    await keys.is('#search')
    await keys.type(bought.card_id)
    await keys.press('Enter')
    await visitor.sees('h1', '…')
    await keys.isKept('a search')
    await keys.enter('main button', 'Freeze')
    await keys.is('dialog textarea')
    await keys.press('Escape')
    await keys.is('main button', 'Freeze')
    await keys.press('g', 'h')
    await visitor.sees('h1', 'Home')
    await keys.is('#main')

    await visitor.page.setViewport(ZOOMED)
    for (const page of ['', '/orders', '/orders/withdrawals', '/orders/actions', '/stuck', '/refunds', '/approvals', '/incoming', '/customers', `/customers/${bought.user_id}`, '/reconciliation', '/audit', '/webhooks', '/supervision', '/lines', '/me', '/sandbox']) {
      await visitor.open(`${service.deskUrl}/desk${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      await keys.walk(page || 'home')
    }
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },
}
