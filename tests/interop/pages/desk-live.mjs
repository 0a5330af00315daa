// What reaches operators while their desk is open: new orders, notes of colleagues, in one tab or in many.
import { Visitor, check, until } from './browser.mjs'
import { asOperator, assertNotReloaded, colleague as colleagueOf, confirmIfAsked, mark, signIn } from './people.mjs'

export const settings = {}

const TABS = 8
const NOTE = 'Called at 10:30: the card was lost. <img src=x onerror="window.owned = 1">'

/** Another tab of the same browser. */
async function tab(visitor, url) {
  const context = visitor.page.browserContext()
  const other = new Visitor(context, await context.newPage())
  await other.begin()
  await other.open(url)
  return other
}

const waiting = async (visitor) => Number(/^\((\d+)\)/.exec(await visitor.page.title())?.[1] ?? 0)
const order = (service, name) => service.agent(name).pay('/order-intl-card?amount=100')
const streams = (tabs) => tabs.flatMap((one) => one.requested).filter((url) => url.includes('/admin/stream')).length

export const scenarios = {
  async 'a new order is announced in the title of an open tab'({ browser, service }) {
    const { visitor } = await asOperator({ browser, service })
    await mark(visitor)
    const before = await waiting(visitor)
    await order(service, 'traveller')
    await until('the number in the title', async () => (await waiting(visitor)) === before + 1)
    await visitor.sees('body', 'A new international order')
    await visitor.sees('.queue-cell', 'International orders')
    await assertNotReloaded(visitor)
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'a note of an operator is in the timeline of its customer, and not for its owner'({ browser, service }) {
    const agent = service.agent('customer')
    await agent.pay('/get-card?amount=25')
    const wallet = await agent.address()
    const { visitor } = await asOperator({ browser, service })
    await visitor.open(`${service.deskUrl}/desk/customers/${wallet}`)
    await visitor.sees('h2', 'Notes')
    // The answer to a note with a card number.
    visitor.expects(/status of 400/)
    await visitor.fill('textarea', '4111 1111 1111 1111')
    await visitor.press('button', 'Write note')
    await visitor.sees('.error', 'contains a card number')
    await visitor.fill('textarea', NOTE)
    await visitor.press('button', 'Write note')
    await visitor.sees('.note-of-customer', 'Called at 10:30: the card was lost.')
    await visitor.sees('.log', 'wrote a note: “Called at 10:30: the card was lost.')
    check(!(await visitor.page.evaluate(() => 'owned' in window)), 'a note stays text')
    await visitor.inspect('desk-customer-notes')
    // A colleague at a terminal.
    await service.admin('notes', 'add', wallet, '--text', 'A letter is on its way.')
    await visitor.sees('.note-of-customer', 'A letter is on its way.')

    const owner = await browser.visitor()
    await signIn(owner, agent)
    await owner.open(`${service.url}/dashboard`)
    await owner.sees('.connection', 'Live')
    check(!(await owner.kept()).includes('the card was lost'), 'the owner does not see it')
    const events = await agent.get('/events')
    check(events.status === 200 && !events.text.includes('the card was lost'), 'no event has it')
    await owner.close()
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'an order is entered with the keyboard alone, and a pasted number never echoes'({ browser, service }) {
    await order(service, 'keyboard')
    const { visitor } = await asOperator({ browser, service })
    const { page } = visitor
    await visitor.open(`${service.deskUrl}/desk/orders`)
    await visitor.sees('.connection', 'Live')
    await visitor.sees('.orders tbody', '$100')
    await page.keyboard.press('j')
    await page.keyboard.press('c')
    await visitor.sees('main', 'left of your claim')
    const focused = () => page.evaluate(() => document.activeElement?.labels?.[0]?.innerText ?? '')
    const shown = () => page.evaluate(() => document.activeElement.value)
    await until('the keyboard in the form', async () => (await focused()).startsWith('Card number') || null)
    const number = '4111 1111 1111 1111'
    await page.browserContext().overridePermissions(service.deskUrl, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write'])
    await page.evaluate((text) => navigator.clipboard.writeText(text), number)
    await page.keyboard.press('v', { commands: ['Paste'] })
    check((await shown()) === '•••• •••• •••• 1111', `the field shows ${await shown()}`)
    await page.keyboard.press('Tab')
    await page.keyboard.type('122031')
    check((await shown()) === '12/2031', 'the slash is written')
    await page.keyboard.press('Tab')
    await page.keyboard.down('Shift')
    await page.keyboard.press('Tab')
    await page.keyboard.up('Shift')
    // The field is selected, so this replaces it.
    await page.keyboard.type('1/31')
    check((await shown()) === '01/31', `a month of one digit gets a zero: ${await shown()}`)
    await page.keyboard.press('Tab')
    check((await page.$eval('form input[placeholder="MM/YY"]', (input) => input.value)) === '01/2031', 'the year gets its century')
    await page.keyboard.type('738')
    check((await shown()) === '•••', `the code shows ${await shown()}`)
    for (const text of ['1 Main Street', 'Springfield', 'IL', '62701']) {
      await page.keyboard.press('Tab')
      await page.keyboard.type(text)
    }
    check(!(await visitor.kept()).replaceAll(' ', '').includes(number.replaceAll(' ', '')), 'the number is in no page and no storage')
    const inputs = await page.$$eval('input', (all) => all.map((input) => `${input.outerHTML} ${input.value}`).join())
    check(!inputs.includes('738'), 'the code is in no field')
    await page.keyboard.press('Enter')
    await confirmIfAsked(visitor, 'main', '•••• 1111 is delivered')
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'a refusal above the limit waits for a second operator, and its order says so'({ browser, service }) {
    const agent = service.agent('refused')
    const bought = (await agent.pay('/order-intl-card?amount=400')).intl_card_order
    const { visitor } = await asOperator({ browser, service })
    await visitor.open(`${service.deskUrl}/desk/orders?id=${bought.card_id}`)
    await visitor.sees('.connection', 'Live')
    await visitor.press('.stick button', 'Claim')
    await visitor.sees('.stick h2', 'Enter the card for $400.00')
    await visitor.press('.stick button', 'Refuse order')
    await visitor.fill('dialog textarea', 'Our partner does not serve this country today.')
    await visitor.press('dialog button', 'Refuse and credit')
    await confirmIfAsked(visitor, '.stick', `Refusal of $${bought.charged_usd_amount.toFixed(2)} waits for a second operator.`)
    await visitor.sees('.orders tbody', 'Refusal waits for a second operator')
    check(!(await visitor.text('.stick')).includes('Seal and deliver'), 'an order whose refusal waits asks for no card')
    check(!(await visitor.text('body')).includes('A colleague asks for your approval'), 'a request is not announced to who made it')
    check((await visitor.count('nav a[href="/desk/refunds"] .count')) === 0, 'nor counted as their work')
    await visitor.inspect('desk-order-refusal-waits')
    // The request outlasts the claim.
    await visitor.press('.stick button', 'Release')
    await visitor.sees('.stick', 'no one')
    const ben = await colleagueOf(service, 'ben-who-approves')
    const { approval_id, amount } = await visitor.page.evaluate(() => fetch('/admin/approvals').then((answer) => answer.json()).then((list) => list.approvals[0]))
    const approved = await ben.post('/admin/approvals/approve', { approval_id, amount: Number(amount) })
    check(approved.status === 'approved', JSON.stringify(approved))
    await visitor.sees('.toasts', 'ben-who-approves approved what you asked for')
    await until('the order is gone', async () => !(await visitor.text('main')).includes('$400.00') || null)
    await visitor.open(`${service.deskUrl}/desk/customers?q=${approval_id}`)
    await visitor.press('main a', 'Look in the audit log')
    await visitor.sees('main tbody', 'approved what a colleague asked')
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'an administrator adds a colleague, whose token is shown once and can be ended'({ browser, service }) {
    const { visitor } = await asOperator({ browser, service })
    await visitor.sees('nav a[href="/desk/operators"]', 'Operators')
    await visitor.open(`${service.deskUrl}/desk/operators`)
    await visitor.sees('h1', 'Operators')
    await visitor.press('button', 'Add a colleague')
    await visitor.fill('dialog input', 'carla')
    await visitor.inspect('desk-add-colleague')
    await visitor.press('dialog button', 'Make a token')
    await confirmIfAsked(visitor, 'dialog', 'It is shown only now')
    const token = await visitor.text('.copy-line span')
    check(/^pop_/.test(token), 'the token is shown')
    await visitor.press('dialog button', 'I have passed it on')
    check(!(await visitor.kept()).includes(token), 'the token stays nowhere')
    const colleague = await browser.visitor()
    await colleague.passkeyDevice()
    colleague.expects(/status of 40[13]/)
    await colleague.open(`${service.deskUrl}/desk`)
    await colleague.sees('h1', 'Sign in')
    await colleague.page.$eval('details', (details) => { details.open = true })
    await colleague.fill('input[type=password]', 'pop_wrong')
    await colleague.press('button', 'Sign in with token')
    await colleague.sees('form .field .error', 'purser admin tokens create makes one')
    await colleague.fill('input[type=password]', token)
    await colleague.press('button', 'Sign in with token')
    await colleague.sees('h1', 'Add your passkey')
    await colleague.press('button', 'Add passkey')
    await colleague.sees('.connection', 'Live')
    await visitor.press('button', 'End carla')
    await visitor.press('dialog button', 'End it')
    await confirmIfAsked(visitor, 'main', 'Ended')
    await colleague.sees('h1', 'Sign in')
    await colleague.close()
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'many tabs of the desk share one stream and stay live'({ browser, service }) {
    const { visitor: first } = await asOperator({ browser, service })
    const tabs = [first]
    for (const page of ['/orders', '/stuck', '/customers', '/reconciliation', '/audit', '/webhooks', '/lines']) tabs.push(await tab(first, `${service.deskUrl}/desk${page}`))
    check(tabs.length === TABS, 'as many tabs as the title says')
    for (const one of tabs) await one.sees('.connection', 'Live')
    check(streams(tabs) === 1, `${streams(tabs)} streams for ${TABS} tabs`)
    const before = await waiting(first)
    await order(service, 'many-tabs')
    for (const one of tabs) await until('the number in each title', async () => (await waiting(one)) === before + 1)
    // The tab with the stream is closed: another one takes over, and misses nothing.
    await first.page.close()
    tabs.shift()
    await order(service, 'after-the-first')
    for (const one of tabs) {
      await until('the number in each title', async () => (await waiting(one)) === before + 2)
      await one.sees('.connection', 'Live')
    }
    check(streams(tabs) === 1, `${streams(tabs)} streams after the first tab was closed`)
    // After a kill all of them say so, and go on.
    await service.kill()
    for (const one of tabs) {
      one.expects(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/)
      await one.sees('.connection', 'Not live')
    }
    await service.run()
    // A tab tries on its own too, so the button may be gone by now.
    await tabs.at(-1).page.evaluate(() => [...document.querySelectorAll('button')].find((button) => button.innerText.includes('Try now'))?.click())
    for (const one of tabs) await one.sees('.connection', 'Live')
    await tabs[0].page.browserContext().close()
  },

  async 'many tabs of the dashboard stay live'({ browser, service }) {
    const agent = service.agent('many-tabs-holder')
    await agent.pay('/get-card?amount=25')
    const first = await browser.visitor()
    await signIn(first, agent)
    const tabs = [first]
    await first.open(`${service.url}/dashboard`)
    while (tabs.length < TABS) tabs.push(await tab(first, `${service.url}/dashboard`))
    for (const one of tabs) await one.sees('.connection', 'Live')
    await agent.pay('/get-card?amount=37')
    for (const one of tabs) await one.sees('main', '$62.00')
    await first.close()
  },

  // The last one, since it moves the clock of the service.
  async 'a claim ends by the clock of the service, and the order is claimed again'({ browser, service }) {
    const claimed = (await order(service, 'claim-ends')).intl_card_order
    const { visitor } = await asOperator({ browser, service })
    await visitor.open(`${service.deskUrl}/desk/orders?id=${claimed.card_id}`)
    await visitor.press('.stick button', 'Claim')
    await visitor.sees('main', 'left of your claim')
    const moved = await service.post('/sandbox/time', { advance_seconds: 2_400 })
    check(moved.status === 200, moved.text)
    await visitor.sees('.stick', 'Your claim has ended.')
    await until('what is due', async () => /23 h (1\d|20) min left/.test(await visitor.text('.stick')) || null)
    await visitor.press('.stick button', 'Claim')
    await visitor.sees('.stick', 'left of your claim')
    await visitor.press('.stick button', 'Release')
    await visitor.sees('.stick button', 'Claim')
    check(!(await visitor.text('.stick')).includes('Your claim has ended'), 'who releases it has not lost it')
    await visitor.close()
  },
}
