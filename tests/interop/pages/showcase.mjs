// The pictures of the README: an account with two weeks of history, watched by its owner and by an operator. Not a test.
// `PURSER_PICTURES=DIR node pages/run.mjs PURSER CHROMIUM showcase` takes them.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { check, until } from './browser.mjs'
import { asOperator, ownersAct, signIn } from './people.mjs'

export const settings = {}

/** An agent with an API key, which spends from the account's managed wallet. */
async function keyed(service, owner, name) {
  const made = await owner.post('/createAgentApiKey', { data: { name } })
  check(made.status === 200, made.text)
  const key = /"apiKey":"([^"]+)"/.exec(made.text)[1]
  return async (route, params) => {
    const auth = await service.post('/agentAuth', { data: {} }, { authorization: `Bearer ${key}` })
    const token = /"idToken":"([^"]+)"/.exec(auth.text)?.[1]
    check(token, auth.text)
    const answer = await service.post('/agentX402Pay', { data: { route, params } }, { authorization: `Bearer ${token}` })
    check(answer.status < 300, answer.text)
    return answer.body.result
  }
}

async function take(visitor, name, size = 'desktop', scheme = 'light') {
  await visitor.looks(size, scheme)
  await until('the page', async () => (await visitor.count('[aria-busy=true]')) === 0 || null)
  // Charts are drawn after their data came.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const folder = process.env.PURSER_PICTURES ?? '.'
  mkdirSync(folder, { recursive: true })
  await visitor.page.screenshot({ path: path.join(folder, `${name}.png`) })
}

export const scenarios = {
  async 'an account with two weeks of history'({ browser, service }) {
    const sandbox = (...args) => service.admin('sandbox', ...args)
    const owner = service.agent('owner')
    const account = (await owner.pay('/get-card?amount=25')).user_id
    await owner.post('/createAgentWallet', { data: {} })
    await sandbox('link', account)
    const courier = await keyed(service, owner, 'Courier')
    const larder = await keyed(service, owner, 'Larder')
    const days = [
      () => courier('/get-card', { amount: '40' }),
      () => larder('/order-gift-card', { product_id: 'gift_marche_lumiere_fr', amount: '50', country: 'FR' }),
      () => courier('/get-card', { amount: '15' }),
      () => owner.pay('/fund-card-balance?amount=60'),
      () => courier('/get-card', { amount: '75' }),
      () => larder('/get-card', { amount: '32.50' }),
      () => owner.pay('/get-card?amount=6.66'),
      () => courier('/get-card', { amount: '110' }),
      () => larder('/get-card', { amount: '18' }),
      () => courier('/get-card', { amount: '54' }),
    ]
    for (const buys of days) {
      await buys()
      await sandbox('advance-clock', '24h')
      // Exchange rates are as old as the clock says, until they are asked for again.
      await until('a rate', async () => (await owner.get('/get-push-to-card?amount=25&currency=EUR')).status === 402 || null)
    }
    const card = (await owner.pay('/get-card?amount=80')).card_id
    await until('the card', () => sandbox('charge', card, 'Calanque Ferries', '6.60').catch(() => null))
    await larder('/order-gift-card', { product_id: 'gift_marche_lumiere_fr', amount: '50', country: 'FR' })
    await courier('/get-card', { amount: '40' })
    await owner.pay('/order-intl-card?amount=100&label=Hotel%20deposit')
    await owner.pay('/get-push-to-card?amount=25&currency=EUR')
    await sandbox('hold-credits')
    const topUp = await owner.pay('/fund-card-balance?amount=250')

    const visitor = await browser.visitor()
    await visitor.passkeyDevice()
    await signIn(visitor, owner)
    const limits = await ownersAct(visitor, '/account/spending', { per_call_usd: '120', approvals: true })
    check(limits.status === 200, JSON.stringify(limits))
    await courier('/get-card', { amount: '480' })
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('.connection', 'Live')
    await take(visitor, 'dashboard')
    await take(visitor, 'dashboard-dark', 'desktop', 'dark')
    await take(visitor, 'dashboard-phone', 'phone')
    await visitor.looks('desktop', 'light')
    const id = topUp.top_up_id ?? topUp.transfer_id
    await visitor.open(`${service.url}/dashboard/transfers/${id}`)
    await visitor.sees('.connection', 'Live')
    await take(visitor, 'top-up')
    await visitor.open(`${service.url}/dashboard/agents`)
    await visitor.sees('.connection', 'Live')
    await take(visitor, 'agents')
    const { visitor: operator } = await asOperator({ browser, service })
    await operator.open(`${service.deskUrl}/desk`)
    await operator.sees('.connection', 'Live')
    await take(operator, 'desk')
  },
}
