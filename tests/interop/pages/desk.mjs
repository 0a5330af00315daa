// The operator's desk at its own address, while an owner watches the dashboard.
import { check, until } from './browser.mjs'
import { HOSTILE, asOperator, assertNotOwned, assertNotReloaded, colleague, confirmIfAsked, dashboard, fillLabelled, loaded, mark } from './people.mjs'

// Work that fails twice is stuck, and a transfer without an account is found at once.
export const settings = {
  PURSER_ENGINE__MAX_ATTEMPTS: '2',
  PURSER_ENGINE__INITIAL_BACKOFF_MS: '1',
  PURSER_RECONCILIATION__STEP_INTERVAL_MS: '10',
  PURSER_RECONCILIATION__GRACE_PERIOD_MS: '300',
}

/** Of the sandbox, on Base. */
const TREASURY = '0x340b1dcb17d6c08cba513c4a769b97dafbac400a'

const PAGES = ['', '/orders', '/orders/withdrawals', '/orders/actions', '/stuck', '/refunds', '/approvals', '/incoming', '/customers', '/reconciliation', '/audit', '/webhooks', '/supervision', '/operators', '/lines', '/me', '/sandbox']

export const scenarios = {
  async 'an operator signs in and every page is accessible'({ browser, service }) {
    const stranger = await browser.visitor()
    stranger.expects(/status of 401/)
    await stranger.open(`${service.deskUrl}/desk`)
    await stranger.sees('h1', 'Sign in')
    await stranger.inspect('desk-sign-in')
    await stranger.close()
    await service.agent('customer').pay(`/order-intl-card?amount=100&label=${encodeURIComponent(HOSTILE.slice(0, 40))}`)
    const { visitor } = await asOperator({ browser, service })
    for (const page of PAGES) {
      await visitor.open(`${service.deskUrl}/desk${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      await assertNotOwned(visitor)
      await visitor.inspect(`desk${page.replaceAll('/', '-') || '-home'}`)
    }
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'an operator fulfils an order, and its owner sees the card'({ browser, service }) {
    const agent = service.agent('traveller')
    const order = (await agent.pay('/order-intl-card?amount=250')).intl_card_order
    const owner = await dashboard({ browser, service }, agent, `/cards/${order.card_id}`, { size: 'phone' })
    await mark(owner)

    const { visitor } = await asOperator({ browser, service })
    await visitor.open(`${service.deskUrl}/desk/orders?id=${order.card_id}`)
    await visitor.sees('main', 'Order of $250.00')
    await visitor.inspect('desk-order')
    await visitor.press('.stick button', 'Claim')
    await visitor.sees('main', 'left of your claim')
    await visitor.sees('.stick h2', 'Enter the card for $250.00')
    await visitor.press('.stick button', 'Refuse order')
    await visitor.sees('dialog', 'The whole charge goes back')
    await visitor.sees('dialog', `$${order.charged_usd_amount.toFixed(2)} is above your $250.00: a second operator must agree`)
    await visitor.inspect('desk-order-refuse')
    await visitor.press('dialog button', 'Cancel')
    await until('the dialog is gone', async () => (await visitor.count('dialog')) === 0 || null)
    const number = '4111111111111111'
    await visitor.page.focus('.claim-head ~ * input[inputmode=numeric], form input[inputmode=numeric]')
    await visitor.page.keyboard.type(number)
    const fields = [['Expiry', '12/2031'], ['CVV', '123'], ['Line', '1 Main Street'], ['City', 'Springfield'], ['State', 'IL'], ['Postal code', '62701'], ['Country', 'US']]
    for (const [label, text] of fields) await fillLabelled(visitor, label, text, 'form')
    await visitor.inspect('desk-order-entry')
    await visitor.press('button', 'Seal and deliver')
    await confirmIfAsked(visitor, 'main', `•••• ${number.slice(12)} is delivered`)
    check(!(await visitor.kept()).replaceAll(' ', '').includes(number), 'the number stays nowhere')
    await visitor.inspect('desk-order-delivered')
    await owner.sees('h1', 'Ready')
    await assertNotReloaded(owner)
    await owner.close()
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'on a phone an opened order is above the queue, and its claim and its button stay in view'({ browser, service }) {
    const agent = service.agent('commuter')
    for (const amount of [160, 170]) await agent.pay(`/order-intl-card?amount=${amount}`)
    const { visitor } = await asOperator({ browser, service })
    await visitor.looks('phone', 'light')
    await visitor.open(`${service.deskUrl}/desk/orders`)
    await visitor.sees('.orders', '$170.00')
    const top = (selector) => visitor.page.$eval(selector, (element) => element.getBoundingClientRect().top)
    check((await top('.orders')) < (await top('.stick')), 'the queue is first')
    await visitor.press('.orders a', '$170.00')
    await visitor.sees('.stick', 'Order of $170.00')
    await until('the order is first', async () => (await top('.stick')) < (await top('.orders')))
    check((await top('.stick')) >= 0 && (await top('.stick')) < 400, 'the page goes to the order')
    await visitor.press('.stick button', 'Claim')
    await visitor.sees('.stick h2', 'Enter the card for $170.00')
    await visitor.inspect('desk-order-phone')
    await visitor.looks('phone', 'light')
    await visitor.page.focus('.entry fieldset .field:last-child input')
    await visitor.settled()
    const inView = (selector) =>
      visitor.page.$eval(selector, (element) => {
        const box = element.getBoundingClientRect()
        return element.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2))
      })
    for (const selector of ['.claim-clock', '.entry input:focus', '.entry [type=submit]']) check(await inView(selector), `${selector} is in view`)
    await visitor.press('.stick button', 'Release')
    await visitor.sees('.stick', 'no one')
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'a second operator approves, and every state of the desk is accessible'({ browser, service }) {
    const customer = service.agent('refunded')
    const bought = await customer.pay('/get-card?amount=300')
    const ben = await colleague(service, 'ben')
    await until('the card', async () => ((await customer.get(`/get-card-data?card_id=${bought.card_id}`)).body.status === 'ready') || null)
    const refund = await ben.post('/admin/refunds', { payment_id: bought.payment_id, amount: 280, reason: 'The shop never sent it.', holder_keeps_product: true })
    check(refund.status === 'requested', `above the limit of one operator: ${JSON.stringify(refund)}`)
    await service.post('/sandbox/issuer', { fault: 'unreachable', times: 2 })
    const stuck = await service.agent('unlucky').pay('/get-card?amount=260')

    // What waits for operators besides orders: a withdrawal, a card action, money without an account, an endpoint that fails.
    const holder = service.agent('busy')
    await holder.token()
    await service.post('/sandbox/link', { wallet: await holder.address(), linked: true })
    const { top_up_id } = await holder.pay('/fund-card-balance?amount=100')
    await until('the top-up', async () => (await holder.get('/list-card-transactions?limit=10')).body.top_ups.some((one) => one.top_up_id === top_up_id && one.status === 'credited') || null)
    await holder.post('/withdraw-card-balance', { amount: '40', destination_address: await holder.address() })
    await holder.post('/register-webhook', { url: 'https://hooks.unused.example/purser' })
    await service.post('/sandbox/faucet', { wallet: TREASURY, amount: '12.50', from: await holder.address() })

    const { visitor } = await asOperator({ browser, service })
    const ask = (route) => visitor.page.evaluate((route) => fetch(route).then((answer) => answer.json()), route)
    const job = await until('the stuck work', async () => (await ask('/admin/dead-letters')).jobs.find((one) => one.subject === stuck.card_id) ?? null)
    const credit = await ben.post('/admin/jobs/credit', { job_id: job.job_id, evidence: 'The issuer said so.', funds_not_sent: true })
    check(credit.approval_id, `above the limit of one operator: ${JSON.stringify(credit)}`)
    await ben.post('/admin/reconciliation/run', {})
    await until('the transfer', async () => (await ask('/admin/incoming-transfers')).incoming_transfers.length > 0 || null)
    await until('the withdrawal', async () => (await ask('/admin/card-withdrawals')).withdrawals.length > 0 || null)
    for (const [page, button, shows, name] of [
      ['/approvals', 'Approve', '“The issuer said so.”', 'desk-approval'],
      ['/orders/withdrawals', 'Claim', '$40.00', 'desk-withdrawal'],
      ['/incoming', '', '$12.50', 'desk-incoming-item'],
      ['/lines', 'Close', 'Failures in a row', 'desk-line-close'],
      ['/webhooks', '', 'hooks.unused.example', 'desk-webhook'],
      [`/customers/${bought.user_id}`, 'Refund', 'Owns', 'desk-refund-ask'],
    ]) {
      await visitor.open(`${service.deskUrl}/desk${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      await visitor.sees('main', shows)
      if (button !== '') await visitor.press('main button', button)
      await visitor.settled()
      await visitor.inspect(name)
    }
    // Each endpoint has its last tries as bars and in words.
    await visitor.open(`${service.deskUrl}/desk/webhooks`)
    await until('a failed try', async () => /(The only try failed|None of \d+ accepted), last: /.test(await visitor.text('.tries')) || null)
    await visitor.press('main tr a', 'hooks.unused.example')
    await visitor.press('main summary', 'Show as a table')
    await visitor.sees('.as-table-box', 'failed, ')
    await visitor.inspect('desk-webhook-tries')
    await visitor.open(`${service.deskUrl}/desk/refunds`)
    await visitor.sees('main', '“The shop never sent it.”')
    await visitor.inspect('desk-refund-waiting')
    await visitor.press('main button', 'Approve')
    await visitor.sees('dialog', 'Approve $280.00?')
    await visitor.press('dialog button', 'Approve')
    await visitor.sees('dialog', 'Enter an amount')
    await visitor.inspect('desk-refund-approve')
    await fillLabelled(visitor, 'Type the amount', '280', 'dialog')
    await visitor.press('dialog button', 'Approve')
    await confirmIfAsked(visitor, 'body', '$280.00 credited to its holder')
    await until('the refund', async () => Number((await customer.get('/get-account-balance')).body.available) === 280 || null)
    await visitor.sees('main', 'ben asked, ')

    await visitor.open(`${service.deskUrl}/desk/stuck`)
    await visitor.sees('main', 'Stuck')
    await visitor.sees('main', '$260.00')
    await visitor.press('main a, main button', '$260.00')
    await loaded(visitor)
    await visitor.inspect('desk-stuck-item')
    const states = [
      [`/customers/${bought.user_id}`, 'desk-customer'],
      [`/customers?q=${bought.card_id}`, 'desk-found'],
      ['/customers?q=nothing', 'desk-not-found'],
      [`/customers/${bought.user_id}?id=${stuck.card_id}`, 'desk-customer-timeline'],
      ['/no/such', 'desk-no-page'],
    ]
    for (const [page, name] of states) {
      await visitor.open(`${service.deskUrl}/desk${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      if (name === 'desk-customer') {
        // One line for each purchase and refund, with its steps in it.
        await visitor.sees('.log', 'by ben and ')
        await visitor.sees('.log', 'bought a $300.00 US card')
        check((await visitor.count('.log > li')) <= 5, 'a purchase and a refund are a line each')
        await visitor.press('.log summary', 'Every step')
      }
      await visitor.inspect(name)
    }
    await visitor.page.keyboard.press('?')
    await visitor.sees('dialog', 'Keyboard')
    await visitor.inspect('desk-shortcuts')
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'an operator who may only read learns so at each act'({ browser, service }) {
    const order = (await service.agent('read').pay('/order-intl-card?amount=140')).intl_card_order
    const { token } = await colleague(service, 'rita', 'read-only')
    const { visitor } = await asOperator({ browser, service }, token)
    const { user_id } = (await service.agent('read').get('/get-account-balance')).body
    for (const [page, name] of [[`/orders?id=${order.card_id}`, 'desk-order-read-only'], [`/customers/${user_id}`, 'desk-customer-read-only'], ['/lines', 'desk-lines-read-only']]) {
      await visitor.open(`${service.deskUrl}/desk${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      await visitor.sees('main', 'Not with your role')
      const offered = await visitor.page.$$eval('main button', (all) => all.filter((one) => /Claim|Refuse|Freeze|Refund|Close…|Open…/.test(one.innerText) && !one.disabled).map((one) => one.innerText))
      check(offered.length === 0, `acts that are offered: ${offered.join(', ')}`)
      await visitor.inspect(name)
    }
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'after a kill both pages say that they are stale, resume, and show nothing twice'({ browser, service }) {
    const agent = service.agent('persistent')
    await agent.pay('/order-intl-card?amount=120')
    await agent.pay('/get-card?amount=20')
    const owner = await dashboard({ browser, service }, agent)
    await owner.sees('main .feed li', '$20.00')
    const { visitor } = await asOperator({ browser, service })
    await visitor.open(`${service.deskUrl}/desk/orders`)
    await visitor.sees('.orders', '$120.00')
    await visitor.sees('.connection', 'Live')
    for (const page of [owner, visitor]) {
      page.expects(/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|WebSocket|Failed to (fetch|load)|net::/)
      await mark(page)
    }
    await service.kill()
    await owner.sees('.stale-bar', 'You can stop your agents as soon as the service answers', 60_000)
    await visitor.sees('.stale-bar', 'Nothing can be decided', 60_000)
    const allowed = await visitor.page.$$eval('.claim-button', (all) => all.filter((button) => !button.disabled).length)
    check(allowed === 0, 'nothing is decided on an old page')
    await visitor.inspect('desk-stale')
    await service.run()
    await agent.pay('/order-intl-card?amount=130')
    await agent.pay('/get-card?amount=21')
    for (const page of [owner, visitor]) await page.sees('.connection', 'Live', 60_000)
    await owner.sees('main .feed li', '$21.00')
    await visitor.sees('.orders tbody tr', '$130.00')
    const shown = (page, rows, text) => page.page.$$eval(rows, (all, text) => all.filter((one) => one.innerText.includes(text)).length, text)
    for (const [page, rows, text] of [[owner, 'main .feed li', '$20.00'], [owner, 'main .feed li', '$21.00'], [visitor, '.orders tbody tr', '$120.00'], [visitor, '.orders tbody tr', '$130.00']]) {
      check((await shown(page, rows, text)) === 1, `${text} is shown once`)
    }
    const rows = await visitor.count('.orders tbody tr')
    await until('the queue has as many', async () => (await visitor.text('.segments a[href="/desk/orders"] .count')) === String(rows) || null)
    for (const page of [owner, visitor]) {
      await assertNotReloaded(page)
      await page.close()
    }
  },
}
