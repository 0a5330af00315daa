// The pages that anybody can open: the front page, the price in a browser, the recipient's form, an agent's signup, the
// sandbox's identity check and the login link.
import { check, until } from './browser.mjs'
import { HOSTILE, assertNotOwned, signIn } from './people.mjs'

export const settings = { PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS: '0' }

/** A debit card of the sandbox, by its country's number. */
function debitCard(country) {
  const body = `400000${country}000001`
  const sum = [...`${body}0`].reverse().reduce((total, digit, n) => {
    const worth = Number(digit) * (n % 2 === 0 ? 1 : 2)
    return total + (worth > 9 ? worth - 9 : worth)
  }, 0)
  return body + String((10 - (sum % 10)) % 10)
}

export const scenarios = {
  async 'the front page says what is sold at which price, to browsers only'({ browser, service }) {
    const visitor = await browser.visitor()
    check((await visitor.open(service.url)) === 200, 'the front page opens')
    const { products } = (await service.get('/get-pricing')).body
    const shown = await visitor.text('main')
    for (const product of products) check(shown.includes(product.route), product.route)
    for (const link of ['/skill.md', '/openapi.json', '/llms.txt']) check(shown.includes(link), link)
    check((await service.get('/')).body.service === 'Purser', 'other clients get JSON')
    await visitor.inspect('public-front')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a price in a browser is a page with every header of the challenge'({ browser, service }) {
    const visitor = await browser.visitor()
    const path = '/get-card?amount=40'
    check((await visitor.open(service.url + path)) === 402, 'status')
    await visitor.sees('h1', 'USA prepaid card')
    await visitor.sees('main', `purser pay --max-usd 40.00 '${service.url}${path}'`)
    await visitor.inspect('public-price')
    await visitor.page.$eval('details', (details) => { details.open = true })
    const json = JSON.parse(await visitor.text('pre'))
    check(json.accepts.length === 2 && json.resource.url === service.url + path, 'the challenge')
    await visitor.inspect('public-price-open')
    visitor.assertClean(service.url)

    const [page, plain] = [await service.get(path, { accept: 'text/html' }), await service.get(path)]
    check(plain.body.accepts.length === 2, 'other clients get JSON')
    for (const name of ['payment-required', 'cache-control']) {
      check(page.headers.get(name) === plain.headers.get(name), name)
    }
    check(page.headers.get('www-authenticate')?.startsWith('Payment '), 'www-authenticate')

    const label = encodeURIComponent(HOSTILE)
    await visitor.open(`${service.url}/order-intl-card?amount=100&label=${label}`)
    await assertNotOwned(visitor)
    await visitor.close()
  },

  async 'a recipient enters a card on a phone, without scripts'({ browser, service }) {
    const agent = service.agent('sender')
    const bought = await agent.pay('/get-push-to-card?amount=25&currency=EUR')
    const visitor = await browser.visitor({ size: 'phone' })
    await visitor.open(bought.redemption_url)
    await visitor.sees('main', 'You are being paid €25.00')
    await visitor.sees('main', 'This link ends on')
    await visitor.inspect('public-redeem')

    await visitor.follow('button')
    await visitor.sees('#card_number-error', 'Enter the long number')
    await visitor.sees('#expiry-error', 'Month and year')

    await visitor.fill('[name=card_number]', '4111 1111 1111 1112')
    await visitor.fill('[name=expiry]', '13/2')
    await visitor.follow('button')
    await visitor.sees('#card_number-error', 'A digit is wrong')
    await visitor.sees('#expiry-error', 'Month and year')
    check(await visitor.page.evaluate(() => document.activeElement.id === 'card_number'), 'focus on the first error')
    check(await visitor.page.evaluate(() => document.querySelector('[name=expiry]').value === '13/2'), 'the expiry is kept')
    await visitor.inspect('public-redeem-errors')
    const american = debitCard('840')
    await visitor.fill('[name=card_number]', american)
    await visitor.fill('[name=expiry]', '12/31')
    await visitor.follow('button')
    await visitor.sees('#card_number-error', 'cannot be paid in euros')
    check(!(await visitor.kept()).includes(american), 'the number stays nowhere')

    await visitor.page.setJavaScriptEnabled(false)
    const card = debitCard('276')
    await visitor.open(bought.redemption_url)
    await visitor.page.setJavaScriptEnabled(true)
    await visitor.fill('[name=card_number]', card)
    await visitor.fill('[name=expiry]', '12/31')
    await visitor.follow('button')
    await visitor.sees('h1', `on its way to the card ending in ${card.slice(12)}`)
    check(!(await visitor.kept()).includes(card), 'the number stays nowhere')
    await visitor.inspect('public-redeem-sent')
    await until('the payment', async () => {
      await visitor.follow('a', 'Look again').catch(() => {})
      return (await visitor.text('h1')).includes('It is on the card')
    })
    await visitor.inspect('public-redeem-paid')
    await visitor.open(bought.redemption_url.replace(/key=./, 'key=_'))
    await visitor.sees('h1', 'No such link')
    await visitor.inspect('public-redeem-invalid')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a recipient does not learn why a payment is on hold'({ browser, service }) {
    const agent = service.agent('frozen')
    const bought = await agent.pay('/get-push-to-card?amount=25&currency=USD')
    await service.admin('freeze', bought.user_id, '--message', HOSTILE)
    const visitor = await browser.visitor({ size: 'phone' })
    check((await visitor.open(bought.redemption_url)) === 403, 'status')
    await visitor.sees('main', 'on hold')
    check(!(await visitor.text()).includes('onerror'), 'no reason')
    await visitor.inspect('public-redeem-on-hold')
    await assertNotOwned(visitor)
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'the words of a sender are shown to the recipient as text'({ browser, service }) {
    const message = encodeURIComponent(`March rent ${HOSTILE}`)
    const bought = await service.agent('writer').pay(`/get-push-to-card?amount=25&currency=USD&message=${message}`)
    const visitor = await browser.visitor({ size: 'phone' })
    await visitor.open(bought.redemption_url)
    await visitor.sees('figure', 'March rent "><img')
    await assertNotOwned(visitor)
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'the sandbox identity check shows errors at its fields'({ browser, service }) {
    const visitor = await browser.visitor({ size: 'phone' })
    await signIn(visitor, service.agent('identified'))
    await visitor.open(`${service.url}/dashboard/settings`)
    await visitor.follow('#identity button', 'Verify identity')
    await visitor.sees('h1', 'Sandbox identity check')
    // The same check is opened again from Home.
    await visitor.open(`${service.url}/dashboard`)
    await visitor.follow('#needs-you a', 'Verify')
    await visitor.sees('h1', 'Sandbox identity check')
    await visitor.inspect('public-identity')
    for (const [name, value] of [['given_name', HOSTILE], ['family_name', 'Lovelace'], ['country', 'gb']]) {
      await visitor.fill(`[name=${name}]`, value)
    }
    await visitor.page.$eval('form', (form) => { form.noValidate = true })
    await visitor.follow('button')
    await visitor.sees('#date_of_birth-error', 'The date of birth is a day')
    await visitor.inspect('public-identity-errors')
    for (const [name, value] of [['given_name', 'Ada'], ['family_name', 'Lovelace'], ['country', 'gb'], ['date_of_birth', '1990-12-10']]) {
      await visitor.fill(`[name=${name}]`, value)
    }
    await visitor.follow('button')
    await visitor.sees('main', 'The check is in progress')
    await visitor.inspect('public-identity-answered')
    await assertNotOwned(visitor)
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a person approves one agent and rejects another'({ browser, service }) {
    const ask = async (body) => (await service.post('/signup', body)).body
    const status = async (signup) => service.get(`/signup-status?claim_token=${signup.claim_token}`)
    const [first, second] = [await ask({ agent_name: `Courier ${HOSTILE}`.slice(0, 80) }), await ask({})]
    const visitor = await browser.visitor({ size: 'phone' })
    await visitor.open(first.claim_url)
    await visitor.sees('main', 'If you are signed in in this browser, go on')
    await visitor.sees('#code', first.claim_code)
    await visitor.inspect('public-claim-signed-out')
    await signIn(visitor, service.agent('owner'))

    await visitor.open(first.claim_url)
    await visitor.sees('main', 'An agent that calls itself “Courier')
    await visitor.sees('#code', first.claim_code)
    await visitor.inspect('public-claim')
    await assertNotOwned(visitor)
    await visitor.fill('[name=name]', 'A'.repeat(81))
    await visitor.follow('button', 'Yes')
    await visitor.sees('#name-error', '1 to 80 characters')
    await visitor.inspect('public-claim-errors')
    await visitor.fill('[name=name]', 'Courier')
    await visitor.follow('button', 'Yes')
    check((await status(first)).body.name === 'Courier', 'the agent has its key')
    check((await visitor.open(first.claim_url)) === 410, 'answered')
    await visitor.sees('main', 'It was approved')
    await visitor.inspect('public-claim-answered')

    await visitor.open(second.claim_url)
    await visitor.follow('button', 'No')
    await visitor.sees('h1', 'Rejected')
    await visitor.inspect('public-claim-rejected')
    const answered = await status(second)
    check(answered.status === 410 && answered.body.code === 'signup_rejected' && answered.body.terminal, answered.text)
    check((await visitor.open(`${second.claim_url}x`)) === 404, 'no such request')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a login link says what it does, and that it was used'({ browser, service }) {
    const link = await service.agent('linked').link()
    const visitor = await browser.visitor({ size: 'phone' })
    visitor.expects(/status of 401/)
    await visitor.page.setJavaScriptEnabled(false)
    await visitor.open(link)
    await visitor.page.setJavaScriptEnabled(true)
    await visitor.sees('h1', 'Open your account')
    await visitor.inspect('public-login')
    await visitor.follow('button', 'Open my account')
    await visitor.sees('.connection', 'Live')
    const stranger = await browser.visitor()
    stranger.expects(/status of 4\d\d/)
    await stranger.open(link)
    await stranger.sees('h1', 'This link does not work')
    await stranger.inspect('public-link-used')
    await stranger.open(`${service.url}/dashboard`)
    await stranger.sees('h1', 'Sign in to your account')
    for (const one of [visitor, stranger]) {
      one.assertClean(service.url)
      await one.close()
    }
  },

  async 'an incomplete link opens nothing'({ browser, service }) {
    const visitor = await browser.visitor()
    const error = await visitor.open(`${service.url}/claim?signup=x`)
    check(error === 404, 'an incomplete link')
    await visitor.sees('h1', 'No such request')
    await visitor.inspect('public-claim-invalid')
    visitor.assertClean(service.url)
    await visitor.close()
  },
}
