// The dashboard of an account's owner, who watches and acts while agents call the service from other processes.
import { check, until } from './browser.mjs'
import { HOSTILE, assertNotOwned, assertNotReloaded, dashboard, loaded, mark } from './people.mjs'

export const settings = { PURSER_SERVER__CONTACT: 'help@pay.example' }

const PAGES = ['', '/cards', '/transfers', '/agents', '/statement', '/settings']

export const scenarios = {
  async 'an agent buys while a person watches, without a reload'({ browser, service }) {
    const agent = service.agent('buyer')
    const visitor = await dashboard({ browser, service }, agent)
    await visitor.inspect('holder-home-empty')
    for (const page of PAGES.slice(1)) {
      await visitor.open(`${service.url}/dashboard${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      await visitor.inspect(`holder${page.replace('/', '-')}-empty`)
    }
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('.connection', 'Live')
    await mark(visitor)
    const bought = await agent.pay('/get-card?amount=20')
    await visitor.sees('main li', '$20.00')
    await visitor.sees('main li', 'Ready')
    await visitor.page.evaluate((id) => { document.querySelector(`a[href="/dashboard/cards/${id}"]`)?.click() }, bought.card_id)
    await assertNotReloaded(visitor)
    // The issuer declines a card of this amount after the payment, so the charge becomes a credit.
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('.connection', 'Live')
    await mark(visitor)
    await agent.pay('/get-card?amount=6.66')
    await visitor.sees('main', '$6.66')
    await assertNotReloaded(visitor)
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'every page is accessible, in both schemes and sizes'({ browser, service }) {
    const agent = service.agent('inspected')
    await agent.pay('/get-card?amount=20')
    const order = await agent.pay('/order-intl-card?amount=100')
    const gift = await agent.pay('/order-gift-card?product_id=gift_marche_lumiere_fr&amount=50&country=FR')
    const payout = await agent.pay('/get-push-to-card?amount=25&currency=EUR')
    const visitor = await dashboard({ browser, service }, agent)
    visitor.expects(/status of 40[34]/)
    const states = [
      ...PAGES.map((page) => [page, `holder${page.replace('/', '-') || '-home'}`]),
      [`/transfers/${payout.payout_id}`, 'holder-payout'],
      [`/cards/${order.intl_card_order.card_id}`, 'holder-card-ordered'],
      [`/cards/${gift.card_id}`, 'holder-card-gift'],
      ['/cards?kind=reloadable&state=ended', 'holder-cards-none'],
      ['/cards/card_00000000000000000000000000000001', 'holder-card-missing'],
      ['/no/such', 'holder-no-page'],
    ]
    for (const [page, name] of states) {
      await visitor.open(`${service.url}/dashboard${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      await visitor.inspect(name)
    }
    for (const [page, button, title, name] of [
      ['', 'Add money', 'Add money', 'holder-add-money'],
      ['', 'Withdraw', 'Withdraw', 'holder-withdraw'],
      ['/cards', 'Order a card', 'Cards are bought by your agents', 'holder-order-card'],
      ['/agents', 'Let an agent in', 'Let an agent in', 'holder-let-in'],
    ]) {
      await visitor.open(`${service.url}/dashboard${page}`)
      await visitor.sees('.connection', 'Live')
      await visitor.press('main button', button)
      await visitor.sees('dialog', title)
      await visitor.inspect(name)
    }
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a link for the identity check leads to it'({ browser, service }) {
    const agent = service.agent('unchecked')
    await agent.token()
    const { kyc_url } = (await agent.get('/get-kyc-link')).body
    const visitor = await browser.visitor({ size: 'phone' })
    visitor.expects(/status of 401/)
    await visitor.open(kyc_url)
    await visitor.sees('#identity', 'Verify identity')
    check(new URL(visitor.page.url()).hash === '#identity', visitor.page.url())
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'an account that has everything is accessible'({ browser, service }) {
    const agent = service.agent('furnished')
    await agent.call('createAgentWallet')
    const wallet = await agent.address()
    await agent.key('Courier')
    await service.post('/sandbox/link', { wallet, linked: true })
    const { card_id } = await agent.pay('/get-card?amount=20')
    await agent.pay('/get-card?amount=6.66')
    const { top_up_id } = await agent.pay('/fund-card-balance?amount=100')
    await until('the top-up', async () => (await agent.get('/list-card-transactions?limit=10')).body.top_ups.some((one) => one.top_up_id === top_up_id && one.status === 'credited') || null)
    const reloadable = (await agent.post('/create-reloadable-card', { usd_amount: '20' })).body.card.card_id
    const taken = (await agent.post('/withdraw-card-balance', { amount: '30', destination_address: wallet })).body.withdrawal.id
    await until('the credit', async () => Number((await agent.get('/get-account-balance')).body.available) > 1 || null)
    const withdrawn = await agent.post('/withdraw', { amount: '1' })
    check(withdrawn.status < 300, withdrawn.text)
    await agent.call('saveAddressBookEntry', { name: 'Office', address: wallet })
    await agent.call('agentWalletTransfer', { toAddress: wallet, amountUsdc: '1.00', note: 'Lunch' })
    const hook = (await agent.post('/register-webhook', { url: 'https://hooks.unused.example/purser' })).body.webhook_id
    await until('the card', async () => (await agent.get(`/get-card-data?card_id=${card_id}`)).body.status === 'ready' || null)
    await service.post('/sandbox/charge', { card_id, amount: '3.50', merchant: 'Corner Shop' })
    const visitor = await dashboard({ browser, service }, agent)
    for (const [page, button, name] of [
      ['', '', 'holder-home-full'],
      [`/cards/${card_id}`, '', 'holder-card'],
      [`/cards/${card_id}`, 'Close card', 'holder-card-close'],
      [`/cards/${reloadable}`, '', 'holder-card-reloadable'],
      ['/transfers', '', 'holder-transfers-full'],
      [`/transfers/${taken}`, '', 'holder-card-withdrawal'],
      ['/agents', 'More for Courier', 'holder-agent-menu'],
      ['/statement', '', 'holder-statement-full'],
      [`/settings?endpoint=${hook}`, 'Add an endpoint', 'holder-webhook-add'],
      [`/settings?endpoint=${hook}`, '', 'holder-settings-full'],
    ]) {
      await visitor.open(`${service.url}/dashboard${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      if (button !== '') await visitor.press('main button', button)
      await visitor.settled()
      await visitor.inspect(name)
    }
    // No one answers at the address of the endpoint.
    await until('an attempt', async () => {
      await visitor.press('.deliveries button', 'Look again')
      return (await visitor.count('.deliveries details')) > 0 || null
    })
    await visitor.page.$eval('.deliveries details', (one) => { one.open = true })
    await visitor.sees('.deliveries th', 'Answer')
    const labels = await visitor.page.$$eval('.ticks', (all) => all.map((one) => one.getAttribute('aria-label')))
    check(labels.some((label) => /^The last \S+ deliver/.test(label)) && labels.some((label) => label.startsWith('Answers: ')), `marks have words: ${labels}`)
    await visitor.inspect('holder-settings-attempts')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a page that was opened with a payment looks and does not act'({ browser, service }) {
    const agent = service.agent('looked')
    const bought = await agent.pay('/get-card?amount=20')
    const link = await service.get('/get-auth-link', { authorization: `Bearer ${agent.paymentToken()}` })
    const visitor = await browser.visitor()
    visitor.expects(/status of 4(0[134]|12)/)
    await visitor.open(link.body.auth_url)
    await visitor.sees('.connection', 'Live')
    for (const [page, name] of [['', 'holder-home-look'], ['/agents', 'holder-agents-look'], ['/settings', 'holder-settings-look'], [`/cards/${bought.card_id}`, 'holder-card-look']]) {
      await visitor.open(`${service.url}/dashboard${page}`)
      await visitor.sees('.connection', 'Live')
      await loaded(visitor)
      check((await visitor.count('#stop-agents')) === 0, 'nothing to stop with')
      if (page === '' || page === '/agents') await visitor.sees('main', 'An agent’s link opened this page')
      await visitor.inspect(name)
    }
    const acts = await visitor.page.$$eval('main button', (all) => all.filter((one) => /Show number|Pause|Close card/.test(one.innerText) && !one.disabled).map((one) => one.innerText))
    check(acts.length === 0, `acts that are offered: ${acts.join(', ')}`)
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'the steps of a top-up move while a person watches'({ browser, service }) {
    const agent = service.agent('topped')
    await agent.token()
    await service.post('/sandbox/link', { wallet: await agent.address(), linked: true })
    await service.post('/sandbox/card-balances', { hold_credits: true })
    const { top_up_id } = await agent.pay('/fund-card-balance?amount=30')
    const visitor = await dashboard({ browser, service }, agent, `/transfers/${top_up_id}`)
    await visitor.sees('main .stop.now', 'Crediting your cards')
    await visitor.sees('main .stop.done', 'Delivered on Base')
    await mark(visitor)
    await visitor.inspect('holder-top-up')
    await service.post('/sandbox/card-balances', { hold_credits: false })
    await visitor.sees('main .stop.done', 'Credited to your cards')
    check((await visitor.count('main .stop.now')) === 0, 'it is over')
    await assertNotReloaded(visitor)
    await visitor.inspect('holder-top-up-credited')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a freeze is felt at once'({ browser, service }) {
    const agent = service.agent('frozen')
    const bought = await agent.pay('/get-card?amount=20')
    const visitor = await dashboard({ browser, service }, agent)
    visitor.expects(/status of 403|4003/)
    await service.admin('freeze', bought.user_id, '--message', `Please write to us. ${HOSTILE}`)
    await visitor.sees('body', 'Please write to us.')
    await assertNotOwned(visitor)
    await visitor.sees('main a', 'help@pay.example')
    await visitor.sees('.copy-line', bought.user_id)
    await visitor.inspect('holder-frozen')
    check(!(await visitor.text()).includes('$20.00'), 'nothing of the account is shown')
    check((await visitor.count('.nav a, .tabbar a, .side-foot a')) === 0, 'nothing leads to a page that is closed')
    await visitor.press('main button', 'Look again')
    await visitor.sees('main [role=status]', 'Still frozen at')
    // A page that is opened meanwhile has loaded nothing of the account.
    await visitor.open(`${service.url}/dashboard/cards`)
    await visitor.sees('.copy-line', bought.user_id)
    await service.admin('unfreeze', bought.user_id)
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('main', '$20.00')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a page that lost the service says so, resumes, and shows nothing twice'({ browser, service }) {
    const agent = service.agent('patient')
    await agent.pay('/get-card?amount=20')
    const visitor = await dashboard({ browser, service }, agent)
    await visitor.sees('main li', '$20.00')
    visitor.expects(/ERR_CONNECTION_REFUSED|WebSocket|Failed to (fetch|load)|net::/)
    await mark(visitor)
    await service.kill()
    await until('that it is not live', async () => !(await visitor.text('.connection')).includes('Live') || null)
    await visitor.sees('body', 'Not live', 60_000)
    await visitor.inspect('holder-stale')
    await service.run()
    const bought = await agent.pay('/get-card?amount=21')
    await visitor.sees('.connection', 'Live', 60_000)
    await visitor.sees('main li', '$21.00')
    await assertNotReloaded(visitor)
    const lines = async (text) => (await visitor.page.$$eval('main .feed li', (all, text) => all.filter((one) => one.innerText.includes(text)).length, text))
    check((await lines('$21.00')) === 1 && (await lines('$20.00')) === 1, `${bought.card_id} is shown once`)
    await visitor.close()
  },

  async 'names that others chose stay text'({ browser, service }) {
    const agent = service.agent('named')
    await agent.pay(`/order-intl-card?amount=100&label=${encodeURIComponent(HOSTILE.slice(0, 40))}`)
    await agent.pay(`/get-push-to-card?amount=25&currency=USD&message=${encodeURIComponent(HOSTILE)}`)
    const made = await agent.post('/createAgentApiKey', { data: { name: HOSTILE.slice(0, 80) } })
    check(made.status === 200, made.text)
    const visitor = await dashboard({ browser, service }, agent)
    for (const page of PAGES) {
      await visitor.open(`${service.url}/dashboard${page}`)
      await loaded(visitor)
      await assertNotOwned(visitor)
    }
    check((await visitor.count('img[src="x"]')) === 0, 'no markup of others')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'nothing secret stays in the browser'({ browser, service }) {
    const agent = service.agent('secretive')
    await agent.pay('/get-card?amount=20')
    const link = await agent.link()
    const code = new URL(link).searchParams.get('code')
    const visitor = await browser.visitor()
    await visitor.open(link)
    await visitor.sees('.connection', 'Live')
    const kept = await visitor.kept()
    check(!kept.includes(code), 'the code of the link')
    check(!/\b4\d{15}\b/.test(kept) && !kept.includes('id_token'), 'card numbers and tokens')
    const history = await visitor.cdp.send('Page.getNavigationHistory')
    check(!JSON.stringify(history).includes(code), 'the code in the history')
    await visitor.close()
  },

  async 'Stop my agents ends what an agent does with its next call'({ browser, service }) {
    const agent = service.agent('boss')
    await agent.token()
    const made = await agent.post('/createAgentApiKey', { data: { name: 'Courier' } })
    const key = made.body.result.apiKey ?? made.body.result.api_key
    const exchanged = await service.post('/agentAuth', { data: { apiKey: key } })
    const token = exchanged.body?.result?.idToken
    check(token, exchanged.text)
    const call = () => service.get('/list-payments', { authorization: `Bearer ${token}` })
    check((await call()).status === 200, 'the agent works')
    const visitor = await dashboard({ browser, service }, agent, '/agents')
    await visitor.press('#stop-agents')
    await visitor.sees('dialog', 'Stop all your agents?')
    await visitor.inspect('holder-stop-dialog')
    await visitor.press('dialog button', 'Stop my agents')
    await visitor.sees('main', 'Your agents were stopped')
    const rejected = await call()
    check(['agents_stopped', 'token_revoked'].includes(rejected.body.code), rejected.text)
    const again = await service.post('/agentAuth', { data: { apiKey: key } })
    check(again.status >= 400 || (await service.get('/list-payments', { authorization: `Bearer ${again.body.result.idToken}` })).status === 403, 'nor can it begin again')
    await visitor.inspect('holder-agents-stopped')
    visitor.assertClean(service.url)
    await visitor.close()
  },
}
