// What attackers try on the pages: texts that would run, requests and frames of other sites, sessions that were planted, and
// secrets that were left behind.
import { appendFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:http'
import path from 'node:path'
import { check, until } from './browser.mjs'
import { HOSTILE, asOperator, assertNotOwned, colleague, confirmIfAsked, dashboard, loaded, operatorToken, ownersAct, signIn } from './people.mjs'

const HOLDER_PAGES = ['', '/cards', '/transfers', '/agents', '/statement', '/settings']
const DESK_PAGES = ['', '/orders', '/orders/withdrawals', '/orders/actions', '/stuck', '/refunds', '/approvals', '/incoming', '/customers', '/reconciliation', '/audit', '/webhooks', '/supervision', '/lines', '/me', '/sandbox']
export const settings = {
  PURSER_OUTBOUND__ALLOWED_HOSTS: '["127.0.0.1:*"]',
  PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS: '0',
  PURSER_ENGINE__MAX_ATTEMPTS: '3',
}

/** What the attacker puts into one field. It breaks out of attributes and of elements, and runs as a picture that fails. */
const planted = (label) => `${label}"'><img src=x onerror=owned=1>`

/** The attacker's own server: a page, a shop, and a receiver of webhooks. */
async function evilServer() {
  const setCookies = []
  const terms = {
    x402Version: 2,
    error: planted('shop-error'),
    resource: { url: 'http://shop.example/paid', description: planted('shop-text'), mimeType: planted('shop-type') },
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:8453',
        amount: '1000000',
        asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
        payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
        maxTimeoutSeconds: 60,
        extra: { name: 'Purser Sandbox USDC', version: '2' },
      },
    ],
  }
  const server = createServer((request, response) => {
    request.resume()
    if (request.url.startsWith('/shop')) {
      const header = Buffer.from(JSON.stringify(terms)).toString('base64')
      response.writeHead(402, { 'content-type': 'application/json', 'payment-required': header }).end(JSON.stringify(terms))
    } else if (request.url.startsWith('/hook')) {
      response.writeHead(500, { 'content-type': 'text/html' }).end(planted('hook-answer'))
    } else {
      response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': setCookies }).end('<!doctype html><html lang="en"><title>Evil</title><link rel="icon" href="data:,"><body>evil')
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  return { port, setCookies, byNumber: `http://127.0.0.1:${port}`, sameSite: `http://localhost:${port}`, close: () => server.close() }
}

/** Visits a page, and returns the text that it shows. Fails if a text became more than text. */
async function visited(visitor, url) {
  await visitor.open(url)
  await loaded(visitor)
  await assertNotOwned(visitor)
  const markup = await visitor.page.$$eval('img[src="x"], [onerror], a[href^="javascript" i], form[action^="javascript" i]', (all) => all.map((one) => one.outerHTML.slice(0, 200)))
  check(markup.length === 0, `${url}: a text became markup: ${markup.join(' ')}`)
  return visitor.text()
}

/** Changes each text of each answer that the page gets from the service: names, reasons, descriptions, addresses. */
async function poison(visitor) {
  const cdp = await visitor.page.createCDPSession()
  const texts = /name|label|note|message|reason|title|brand|descri|merchant|host|words|evidence|hint|error|text|memo|reference|bank|line1|city|excerpt|detail|says|instruction|recipient|summary|what|product$|category|agent/i
  const changed = (value, key) => {
    if (Array.isArray(value)) return value.map((one) => changed(one, key))
    if (value !== null && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, changed(one, name)]))
    if (typeof value !== 'string' || /_id$|Id$|_at$|At$/.test(key)) return value
    if (/url$|href|uri$/i.test(key)) return 'javascript:window.owned=1//'
    return texts.test(key) || /\s/.test(value) ? `${value}${HOSTILE}` : value
  }
  cdp.on('Fetch.requestPaused', async ({ requestId, responseStatusCode, responseHeaders }) => {
    try {
      // A stream has no end.
      const isJson = responseHeaders?.some(({ name, value }) => /^content-type$/i.test(name) && value.includes('json'))
      check(isJson, 'not JSON')
      const { body, base64Encoded } = await cdp.send('Fetch.getResponseBody', { requestId })
      const text = base64Encoded ? Buffer.from(body, 'base64').toString() : body
      const poisoned = Buffer.from(JSON.stringify(changed(JSON.parse(text), ''))).toString('base64')
      const kept = responseHeaders.filter(({ name }) => !/^content-(length|encoding)$/i.test(name))
      await cdp.send('Fetch.fulfillRequest', { requestId, responseCode: responseStatusCode, responseHeaders: kept, body: poisoned })
    } catch {
      await cdp.send('Fetch.continueRequest', { requestId }).catch(() => {})
    }
  })
  await cdp.send('Fetch.enable', { patterns: [{ urlPattern: '*', resourceType: 'Fetch', requestStage: 'Response' }] })
}

/** Everything of an account that has a name or a text, each with the attacker's. */
async function plant(service, agent, evil) {
  const refused = []
  const ids = {}
  const attempt = async (label, act) => {
    try {
      return await act(planted(label))
    } catch (error) {
      // A text that is not accepted is no danger; which ones must be is checked at the end.
      refused.push(label)
      console.log(`not accepted: ${label}: ${String(error.stdout || error.message).slice(0, 200)}`)
      return null
    }
  }
  const post = async (route, body) => {
    const answer = await service.post(route, body)
    check(answer.status < 300, `${route}: ${answer.status} ${answer.text}`)
    return answer.body
  }
  const query = (text) => encodeURIComponent(text)
  await agent.call('createAgentWallet')
  const wallet = await agent.address()
  const card = await agent.pay('/get-card?amount=40')
  ids.card = card.card_id
  await attempt('key', async (name) => {
    const key = await agent.key(name)
    await attempt('session', (text) => agent.call('announceAgentConnection', { name: text }, key.token))
    ids.keyToken = key.token
  })
  await attempt('order', async (label) => { ids.order = (await agent.pay(`/order-intl-card?amount=100&label=${query(label)}`)).intl_card_order.card_id })
  await attempt('message', async (text) => {
    const payout = await agent.pay(`/get-push-to-card?amount=25&currency=USD&message=${query(text)}`)
    Object.assign(ids, { payout: payout.payout_id, redemption: payout.redemption_url })
  })
  await post('/sandbox/identity-result', { wallet, passed: true, begin: true })
  await until('the identity', async () => (await agent.get('/get-kyc-status')).body.status === 'verified' || null)
  await attempt('first', async (first) => {
    const names = `recipient_first_name=${query(first)}&recipient_last_name=${query(planted('last'))}&recipient_email=ada%40example.com`
    const paid = await agent.pay(`/send-payment?amount=10&platform=paypal&recipient_id=ada&${names}`)
    ids.app = paid.payment.payout_id
    await attempt('renamed', async (name) => {
      const answer = await agent.post('/payment-recipients', { recipient_id: paid.payment.recipient_id, platform: 'paypal', display_name: name })
      check(answer.status === 200, answer.text)
    })
  })
  await attempt('payee', async (name) => {
    const destinations = [{ destination_type: 'fiat_us', nickname: planted('nick'), bank_name: planted('bank'), routing_number: '021000021', account_number: '000123456789' }]
    const made = await post('/sandbox/bank-recipients', { wallet, name, destinations })
    ids.bank = (await agent.pay(`/send-bank-payment?amount=20&destination_id=${made.destination_ids[0]}`)).bank_payment.payout_id
  })
  await attempt('book', (name) => agent.call('saveAddressBookEntry', { name, address: wallet }))
  await attempt('sent', (note) => agent.call('agentWalletTransfer', { toAddress: wallet, amountUsdc: '1.00', note }))
  await attempt('hook', async (text) => {
    const made = await agent.post('/register-webhook', { url: `${evil.byNumber}/hook?${query(text)}` })
    check(made.status === 200, made.text)
    ids.hook = made.body.webhook_id
  })
  await until('the card', async () => (await agent.get(`/get-card-data?card_id=${card.card_id}`)).body.status === 'ready' || null)
  await attempt('merchant', (merchant) => post('/sandbox/charge', { card_id: card.card_id, amount: '3.50', merchant }))
  await attempt('wanted', async (note) => {
    // More than one payment may be: the shop's name and the note are shown when the owner is asked.
    const answer = await service.post('/agentX402Pay', { data: { url: `${evil.byNumber}/shop?${query(note)}`, note, expectedNetwork: 'base' } }, await agent.bearer())
    check(answer.status < 500 && answer.status !== 400, answer.text)
  })
  return { ids, refused, wallet }
}

export const scenarios = {
  async 'texts that others chose are shown as text on every page of both apps'({ browser, service }) {
    const evil = await evilServer()
    const agent = service.agent('named')
    const { ids, refused, wallet } = await plant(service, agent, evil)
    const visitor = await browser.visitor()
    const device = await visitor.passkeyDevice()
    await signIn(visitor, agent)
    visitor.expects(/status of 40[0134]|4003/)
    // A payment over a limit, which the owner is asked about.
    const limits = await ownersAct(visitor, '/account/spending', { per_call_usd: '1.50', approvals: true })
    check(limits.agent_wallet?.limits.approvals === true, JSON.stringify(limits))
    await visitor.open(`${service.url}/dashboard/settings`)
    await visitor.press('button', 'Add a passkey')
    await visitor.press('dialog button', 'Add passkey')
    await until('the passkey', async () => (await device.credentials()).length === 1 || null)
    const [passkey] = await visitor.page.evaluate(() => fetch('/account/passkeys').then((answer) => answer.json()).then((body) => body.passkeys))
    const renamed = await ownersAct(visitor, '/account/passkeys/rename', { passkey_id: passkey.passkey_id, name: planted('passkey') })
    check(renamed.name === planted('passkey'), JSON.stringify(renamed))
    const asked = await service.post('/agentWalletTransfer', { data: { toAddress: wallet, amountUsdc: '2', note: planted('asked') } }, { authorization: `Bearer ${ids.keyToken}` })
    check(asked.status === 202, asked.text)
    // Words of operators, which holders or colleagues read.
    const ben = await colleague(service, 'ben')
    const second = (await agent.pay('/order-intl-card?amount=110')).intl_card_order.card_id
    await ben.post('/admin/intl-orders/reject', { card_id: second, lease: null, reason: planted('rejected') })
    const dear = await agent.pay('/get-card?amount=290')
    await until('the card', async () => (await agent.get(`/get-card-data?card_id=${dear.card_id}`)).body.status === 'ready' || null)
    await ben.post('/admin/refunds', { payment_id: dear.payment_id, amount: 280, reason: planted('refund'), holder_keeps_product: true })

    let shown = ''
    const see = async (who, url) => { shown += `\n${await visited(who, url)}` }
    for (const page of HOLDER_PAGES) await see(visitor, `${service.url}/dashboard${page}`)
    for (const id of [ids.card, ids.order, second]) await see(visitor, `${service.url}/dashboard/cards/${id}`)
    for (const id of [ids.payout, ids.app, ids.bank]) await see(visitor, `${service.url}/dashboard/transfers/${id}`)
    await see(visitor, `${service.url}/dashboard/settings?endpoint=${ids.hook}`)
    await visitor.page.$$eval('details', (all) => all.forEach((one) => { one.open = true }))
    shown += await visitor.text()
    // Dialogs that repeat a name.
    await visitor.open(`${service.url}/dashboard`)
    await visitor.press('#needs-you button', 'Look at it')
    await visitor.sees('dialog', '$2.00')
    shown += await visitor.text('dialog')
    await assertNotOwned(visitor)
    // Addresses with an attacker's text.
    const text = encodeURIComponent(HOSTILE)
    for (const page of [`/dashboard/cards/${text}`, `/dashboard/transfers/${text}`, `/dashboard/cards?kind=${text}&state=${text}`, `/dashboard/${text}`, `/dashboard?${text}#${text}`, `/claim?signup=${text}`, `/redeem?payout_id=${text}&key=${text}`, `/login?code=${text}`, `/get-card?amount=${text}`, `/${text}`]) {
      await visitor.open(service.url + page)
      await assertNotOwned(visitor)
    }
    await see(visitor, ids.redemption)
    const signup = (await service.post('/signup', { agent_name: planted('signup') })).body
    await see(visitor, signup.claim_url)

    const { visitor: desk } = await asOperator({ browser, service })
    desk.expects(/status of 40[0134]/)
    for (const page of DESK_PAGES) await see(desk, `${service.deskUrl}/desk${page}`)
    for (const page of [`/customers/${wallet}`, ...[ids.card, ids.order, second, ids.payout, ids.bank, ids.hook].map((id) => `/customers/${wallet}?id=${id}`), `/orders?id=${ids.order}`]) {
      await see(desk, `${service.deskUrl}/desk${page}`)
    }
    for (const page of [`/customers?q=${text}`, `/customers/${text}`, `/orders?id=${text}`, `/stuck?job=${text}`, `/${text}`]) {
      await desk.open(`${service.deskUrl}/desk${page}`)
      await desk.sees('.connection', 'Live')
      await assertNotOwned(desk)
    }
    await ben.post('/admin/freeze', { wallet, message: planted('frozen') })
    await see(desk, `${service.deskUrl}/desk/customers/${wallet}`)
    await see(visitor, `${service.url}/dashboard`)

    check(refused.length === 0, `not accepted: ${refused.join(', ')}`)
    const missing = ['key', 'session', 'order', 'message', 'renamed', 'payee', 'book', 'sent', 'hook-answer', 'merchant', 'passkey', 'asked', 'rejected', 'refund', 'signup', 'frozen'].filter((label) => !shown.includes(planted(label)))
    check(missing.length === 0, `not shown as they are: ${missing.join(', ')}`)
    visitor.assertClean(service.url)
    desk.assertClean(service.deskUrl)
    await visitor.close()
    await desk.close()
    evil.close()
  },

  async 'no text of any answer of the service becomes markup'({ browser, service }) {
    const agent = service.agent('poisoned')
    await agent.call('createAgentWallet')
    await agent.key('Courier')
    const card = await agent.pay('/get-card?amount=20')
    const gift = await agent.pay('/order-gift-card?product_id=gift_marche_lumiere_fr&amount=50&country=FR')
    const payout = await agent.pay('/get-push-to-card?amount=25&currency=EUR')
    const order = await agent.pay('/order-intl-card?amount=100&label=Trip')
    const wallet = await agent.address()
    await agent.call('saveAddressBookEntry', { name: 'Office', address: wallet })
    await agent.call('agentWalletTransfer', { toAddress: wallet, amountUsdc: '1.00', note: 'Lunch' })
    await agent.post('/register-webhook', { url: 'https://hooks.example/purser' })
    await service.post('/sandbox/charge', { card_id: card.card_id, amount: '3.50', merchant: 'Shop' })
    await service.post('/sandbox/issuer', { fault: 'unreachable', times: 3 })
    await agent.pay('/get-card?amount=30')
    const visitor = await dashboard({ browser, service }, agent)
    const { visitor: desk } = await asOperator({ browser, service })
    for (const one of [visitor, desk]) {
      one.expects(/status of 40[134]/)
      await poison(one)
    }
    const counts = []
    const see = async (who, url) => counts.push([url, (await visited(who, url)).split('<img src=x onerror=').length - 1])
    for (const page of [...HOLDER_PAGES, `/cards/${card.card_id}`, `/cards/${gift.card_id}`, `/transfers/${payout.payout_id}`]) await see(visitor, `${service.url}/dashboard${page}`)
    for (const page of [...DESK_PAGES, `/customers/${card.user_id}`, `/orders?id=${order.intl_card_order.card_id}`]) await see(desk, `${service.deskUrl}/desk${page}`)
    for (const [origin, least] of [[service.url, 5], [service.deskUrl, 6]]) {
      const seen = counts.filter(([url, count]) => url.startsWith(`${origin}/`) && count > 0)
      check(seen.length >= least, `the changed texts are shown: ${JSON.stringify(counts)}`)
    }
    visitor.assertClean(service.url)
    desk.assertClean(service.deskUrl)
    await visitor.close()
    await desk.close()
  },

  async 'another site changes nothing, shows no page in a frame, and plants no session'({ browser, service }) {
    const evil = await evilServer()
    const agent = service.agent('victim')
    await agent.key('Courier')
    const payout = await agent.pay('/get-push-to-card?amount=25&currency=EUR')
    const visitor = await dashboard({ browser, service }, agent)
    visitor.expects(/status of 4\d\d|ERR_BLOCKED_BY_RESPONSE|frame|Refused|X-Frame-Options|policy|Content.Security|Cross-Origin/)
    const { visitor: desk } = await asOperator({ browser, service })
    const account = () => visitor.page.evaluate(() => fetch('/account').then((answer) => answer.json()))
    await visitor.open(`${service.url}/dashboard`)
    const before = await account()

    // The attacker's page is of the same site: a host's ports are one site. So the browser sends the cookies with it.
    const sent = []
    const answers = []
    const desks = await desk.page.browserContext().cookies()
    await visitor.page.browserContext().setCookie(...desks)
    await visitor.cdp.send('Network.enable')
    visitor.cdp.on('Network.requestWillBeSentExtraInfo', ({ associatedCookies }) => {
      for (const { cookie, blockedReasons } of associatedCookies) if (blockedReasons.length === 0) sent.push(cookie.name)
    })
    await visitor.open(`${evil.sameSite}/`)
    // From here on: our own page, which was open until now, may call its service too.
    visitor.page.on('response', (response) => {
      if (response.request().method() === 'POST') answers.push([new URL(response.url()).pathname, response.status()])
    })
    const documents = [[service.url, '/openapi.json'], [service.url, '/sandbox/openapi.json'], [service.deskUrl, '/admin/openapi.json']]
    const targets = []
    for (const [origin, document] of documents) {
      const headers = document.startsWith('/admin') ? { authorization: `Bearer ${operatorToken(service)}` } : {}
      const { paths } = await (await fetch(origin + document, { headers })).json()
      const open = /^\/(sandbox|signup|auth|refresh|identity-callback|card-callback|bank-callback|payout-callback|redeem)/
      for (const [route, methods] of Object.entries(paths)) if (methods.post && !open.test(route)) targets.push(origin + route)
    }
    check(targets.length > 90, `${targets.length} routes`)
    await visitor.page.evaluate(async (targets) => {
      const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']
      await Promise.all(targets.map((target, at) => fetch(target, { method: 'POST', mode: 'no-cors', credentials: 'include', headers: { 'content-type': types[at % 3] }, body: '{}' }).catch(() => {})))
      // A request of another type needs our permission first, which is not given.
      await Promise.all(targets.slice(0, 12).map((target) => fetch(target, { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: '{}' }).catch(() => {})))
    }, targets)
    // Forms, one that looks like JSON too.
    for (const route of ['/account/stop-agents', '/account/sign-out', '/account/spending', '/claim', '/login']) {
      await visitor.page.evaluate((target) => {
        for (const kind of ['text/plain', 'application/x-www-form-urlencoded']) {
          const frame = Object.assign(document.createElement('iframe'), { name: `f${Math.random()}` })
          const form = Object.assign(document.createElement('form'), { method: 'post', action: target, target: frame.name, enctype: kind })
          form.append(Object.assign(document.createElement('input'), { name: '{"per_call_usd":"50000","x":"', value: '"}' }))
          document.body.append(frame, form)
          form.submit()
        }
      }, service.url + route)
    }
    await until('the answers', () => answers.length >= targets.length || null)
    check(sent.some((name) => /purser/.test(name)), `the browser sent the cookies: ${[...new Set(sent)].join(', ')}`)
    const passed = answers.filter(([, status]) => status < 400)
    check(passed.length === 0, `requests of another site that passed: ${JSON.stringify(passed)}`)

    // In a frame the browser shows none of our pages.
    const framed = await visitor.page.evaluateHandle((urls) => {
      document.body.append(...urls.map((url) => Object.assign(document.createElement('iframe'), { src: url })))
    }, [`${service.url}/dashboard`, `${service.deskUrl}/desk`, payout.redemption_url])
    await framed.dispose()
    await new Promise((resolve) => setTimeout(resolve, 500))
    const seen = visitor.page.frames().slice(1).map((frame) => frame.url()).filter((url) => url.startsWith(service.url) || url.startsWith(service.deskUrl))
    for (const frame of visitor.page.frames().slice(1)) {
      const text = await frame.evaluate(() => document.body?.innerText ?? '').catch(() => '')
      check(!/Purser|Sign in|being paid/.test(text), `a frame shows: ${text.slice(0, 100)}`)
    }
    check(seen.every((url) => !url.includes('/dashboard')), `framed: ${seen.join(' ')}`)
    const html = { accept: 'text/html' }
    const pages = ['/', '/get-card?amount=5', '/dashboard', '/dashboard/cards', '/login', '/login?code=x', '/claim?signup=x', `/redeem?${payout.redemption_url.split('?')[1]}`, '/redeem?key=x', '/sandbox/identity-check?check=x', '/no/such/page']
    for (const page of pages) {
      const { headers } = await service.get(page, html)
      if (!headers.get('content-type')?.startsWith('text/html')) continue
      check(headers.get('content-security-policy')?.includes("frame-ancestors 'none'"), `${page}: frames`)
      check(headers.get('x-frame-options') === 'DENY', `${page}: frames in old browsers`)
      check(headers.get('x-content-type-options') === 'nosniff', `${page}: types`)
      check(!/unsafe/.test(headers.get('content-security-policy')), `${page}: unsafe`)
    }

    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('.connection', 'Live')
    const after = await account()
    for (const member of ['agents_stopped_at', 'agent_wallet', 'api_keys', 'caps', 'passkeys', 'status']) {
      check(JSON.stringify(before[member]) === JSON.stringify(after[member]), `${member} changed`)
    }
    const still = await desk.page.evaluate(() => fetch('/admin/session').then((answer) => answer.status))
    check(still === 200, 'the operator is signed in')

    // The attacker's own session, planted in the browser of a person who signs in afterwards.
    const attacker = service.agent('attacker')
    const own = await dashboard({ browser, service }, attacker)
    const cookie = (await own.page.browserContext().cookies()).find(({ name }) => /purser/.test(name))
    const victim = await browser.visitor()
    victim.expects(/status of 4\d\d/)
    evil.setCookies.push(`${cookie.name}=${cookie.value}; Path=/`)
    await victim.open(`${evil.sameSite}/`)
    await signIn(victim, agent)
    await victim.open(`${service.url}/dashboard`)
    const account_of = async (page) => page.evaluate(() => fetch('/account').then(async (answer) => (answer.ok ? (await answer.json()).user_id : answer.status)))
    check((await account_of(victim.page)) === before.user_id, 'signing in replaces the planted session')
    const value = (await victim.page.browserContext().cookies()).find(({ name }) => name === cookie.name).value
    check(value !== cookie.value, 'a session of its own')
    check((await account_of(own.page)) !== before.user_id, 'the attacker’s session is still the attacker’s')
    // A second cookie of the same name, for a part of the site, never makes the attacker's account the shown one.
    evil.setCookies.splice(0, 1, `${cookie.name}=${cookie.value}; Path=/account`)
    await victim.open(`${evil.sameSite}/`)
    await victim.open(`${service.url}/dashboard`)
    const met = await account_of(victim.page)
    check(met === before.user_id || met === 401, `with two cookies: ${met}`)
    for (const one of [visitor, desk, own, victim]) await one.close()
    evil.close()
  },

  async 'no secret is left in pages, storage, history or logs'({ browser, service }) {
    const agent = service.agent('secretive')
    await agent.call('createAgentWallet')
    const key = await agent.key('Courier')
    const card = await agent.pay('/get-card?amount=20')
    const link = await agent.link()
    const secrets = []
    const secret = (name, text) => {
      check(typeof text === 'string' && text.length >= 12, `${name} is known`)
      secrets.push([name, text])
    }
    secret('the code of a login link', new URL(link).searchParams.get('code'))
    secret('a token of the wallet', await agent.token())
    secret('a token of an API key', key.token)
    secret('an API key', key.secret)
    secret('an operator’s token', operatorToken(service))
    const visitor = await browser.visitor()
    visitor.expects(/status of 4\d\d/)
    const device = await visitor.passkeyDevice()
    const body = []
    visitor.page.on('response', (response) => {
      if (!/passkey|confirm|webhook|get-card-data/.test(response.url()) || response.status() !== 200) return
      body.push(response.text().then((text) => [response.url(), text], () => ['', '']))
    })
    await visitor.open(link)
    await visitor.sees('.connection', 'Live')
    await visitor.open(`${service.url}/dashboard/settings`)
    const hook = await ownersAct(visitor, '/register-webhook', { url: 'https://hooks.example/purser' })
    secret('the secret of a webhook', hook.secret)
    await visitor.press('button', 'Add a passkey')
    await visitor.press('dialog button', 'Add passkey')
    await until('the passkey', async () => (await device.credentials()).length === 1 || null)
    // Out and in with the passkey, so that its challenges and another session are there to be found.
    await visitor.page.evaluate(() => fetch('/account/sign-out', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }))
    await visitor.open(`${service.url}/dashboard`)
    await visitor.press('button', 'Sign in with a passkey')
    await visitor.sees('.connection', 'Live')
    await visitor.open(`${service.url}/dashboard/cards/${card.card_id}`)
    await visitor.sees('main', 'Ready')
    await visitor.press('main button', 'Show number')
    await confirmIfAsked(visitor, 'main', 'Hidden again in')
    await visitor.press('main button', 'Hide')
    await visitor.sees('main button', 'Show number')
    for (const [url, text] of await Promise.all(body)) {
      for (const found of text.matchAll(/"challenge": ?"([\w-]+)"/g)) secret('a challenge', found[1])
      if (url.includes('get-card-data')) for (const found of text.matchAll(/"card_number": ?"(\d+)"/g)) secret('a card number', found[1])
    }
    for (const seen of ['a challenge', 'a card number']) check(secrets.some(([name]) => name === seen), `${seen} was seen`)
    for (const { name, value } of await visitor.page.browserContext().cookies()) secret(`the cookie ${name}`, value)
    const { visitor: desk } = await asOperator({ browser, service })
    for (const { name, value } of await desk.page.browserContext().cookies()) secret(`the desk’s cookie ${name}`, value)
    for (const page of ['', '/me', '/orders', '/audit', `/customers/${card.user_id}`]) await visited(desk, `${service.deskUrl}/desk${page}`)
    for (const page of HOLDER_PAGES) await visited(visitor, `${service.url}/dashboard${page}`)

    // The check finds what is planted in each place, and nothing else.
    const control = 'control-5f1c7e0a94b2d368'
    for (const who of [visitor, desk]) {
      const clean = await places(who, service)
      for (const [name, known] of secrets) {
        for (const [place, text] of Object.entries(clean)) check(!text.includes(known), `${name} is in the ${place}`)
      }
      check(!Object.values(clean).some((text) => /\b4\d{3} ?\d{4} ?\d{4} ?\d{4}\b/.test(text)), 'a card number')
    }
    await visitor.page.evaluate(async (control) => {
      localStorage.setItem('control', control)
      sessionStorage.setItem('control', control)
      document.cookie = `control=${control}`
      history.replaceState({ control }, '', `?${control}`)
      document.body.dataset.control = control
      await (await caches.open('control')).put('/control', new Response(control))
      await new Promise((resolve, reject) => {
        const opening = indexedDB.open('control', 1)
        opening.onupgradeneeded = () => opening.result.createObjectStore('control').put(control, 'control')
        opening.onsuccess = resolve
        opening.onerror = reject
      })
    }, control)
    appendFileSync(path.join(service.folder, 'log'), `${control}\n`)
    const found = await places(visitor, service)
    const blind = Object.entries(found).filter(([, text]) => !text.includes(control)).map(([place]) => place)
    check(blind.length === 0, `the check does not see into: ${blind.join(', ')}`)
    visitor.assertClean(service.url)
    desk.assertClean(service.deskUrl)
    await visitor.close()
    await desk.close()
  },
}

/** The places where something can be left, each as one text. */
async function places(visitor, service) {
  const { entries } = await visitor.cdp.send('Page.getNavigationHistory')
  const inPage = await visitor.page.evaluate(async () => {
    const databases = []
    for (const { name } of await indexedDB.databases()) {
      const opened = await new Promise((resolve, reject) => {
        const opening = indexedDB.open(name)
        opening.onsuccess = () => resolve(opening.result)
        opening.onerror = reject
      })
      for (const store of opened.objectStoreNames) {
        const all = opened.transaction(store).objectStore(store).getAll()
        databases.push(await new Promise((resolve) => { all.onsuccess = () => resolve(JSON.stringify(all.result)) }))
      }
      opened.close()
    }
    const stored = []
    for (const name of await caches.keys()) {
      const cache = await caches.open(name)
      for (const request of await cache.keys()) stored.push(request.url, await (await cache.match(request)).text())
    }
    return {
      'local storage': JSON.stringify({ ...localStorage }),
      'session storage': JSON.stringify({ ...sessionStorage }),
      databases: databases.join(),
      caches: stored.join(),
      cookies: document.cookie,
      document: document.documentElement.outerHTML,
      address: location.href,
      state: JSON.stringify(history.state),
    }
  })
  return { ...inPage, history: JSON.stringify(entries), log: service.log() }
}
