// The operator's desk at its own address, while an owner watches the dashboard.
import { check, until } from './browser.mjs'
import { HOSTILE, assertNotOwned, assertNotReloaded, confirmIfAsked, mark, signIn } from './people.mjs'
import { readFileSync } from 'node:fs'
import path from 'node:path'

export const settings = {}

const PAGES = ['', '/orders', '/orders/withdrawals', '/orders/actions', '/stuck', '/refunds', '/approvals', '/incoming', '/customers', '/reconciliation', '/audit', '/webhooks', '/supervision', '/lines', '/me', '/sandbox']

/** An operator who signed in with the token of a new service, and has a passkey. */
export async function asOperator({ browser, service }) {
  const visitor = await browser.visitor()
  const device = await visitor.passkeyDevice()
  visitor.expects(/status of 40[13]/)
  const token = readFileSync(path.join(service.data, 'operator.token'), 'utf8').trim()
  await visitor.open(`${service.deskUrl}/desk`)
  await visitor.sees('h1', 'Sign in')
  await visitor.page.$eval('details', (details) => { details.open = true })
  await visitor.fill('input[type=password]', token)
  await visitor.press('button', 'Sign in with token')
  // The first time the operator has to add a passkey.
  const title = await until('the desk', async () => /Add your passkey|Home/.exec(await visitor.text('h1'))?.[0])
  if (title === 'Add your passkey') {
    await visitor.inspect('desk-add-passkey')
    await visitor.press('button', 'Add passkey')
  }
  await visitor.sees('.connection', 'Live')
  check(!(await visitor.kept()).includes(token), 'the token stays nowhere')
  return { visitor, device }
}

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
      await until(`the page ${page}`, async () => (await visitor.count('[aria-busy=true]')) === 0)
      await assertNotOwned(visitor)
      await visitor.inspect(`desk${page.replaceAll('/', '-') || '-home'}`)
    }
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },

  async 'an operator fulfils an order, and its owner sees the card'({ browser, service }) {
    const agent = service.agent('traveller')
    const order = (await agent.pay('/order-intl-card?amount=250')).intl_card_order
    const owner = await browser.visitor({ size: 'phone' })
    await signIn(owner, agent)
    await owner.open(`${service.url}/dashboard/cards/${order.card_id}`)
    await owner.sees('.connection', 'Live')
    await mark(owner)

    const { visitor } = await asOperator({ browser, service })
    await visitor.open(`${service.deskUrl}/desk/orders?id=${order.card_id}`)
    await visitor.press('button', 'Claim')
    await visitor.sees('main', 'left of your claim')
    const number = '4111111111111111'
    await visitor.page.focus('.claim-head ~ * input[inputmode=numeric], form input[inputmode=numeric]')
    await visitor.page.keyboard.type(number)
    const field = async (label, text) => {
      const id = await visitor.page.evaluate((label) => [...document.querySelectorAll('form label')].find((one) => one.innerText.startsWith(label)).htmlFor, label)
      await visitor.fill(`#${escaped(id)}`, text)
    }
    await field('Expiry', '12/2031')
    await field('CVV', '123')
    for (const [label, text] of [['Line', '1 Main Street'], ['City', 'Springfield'], ['State', 'IL'], ['Postal code', '62701'], ['Country', 'US']]) await field(label, text)
    await visitor.inspect('desk-order-entry')
    await visitor.press('button', 'Seal and deliver')
    await confirmIfAsked(visitor, 'main', `•••• ${number.slice(12)} is delivered`)
    check(!(await visitor.kept()).replaceAll(' ', '').includes(number), 'the number stays nowhere')
    await owner.sees('main', 'Ready')
    await assertNotReloaded(owner)
    await owner.close()
    visitor.assertClean(service.deskUrl)
    await visitor.close()
  },
}

/** Ids of the parts may have characters that a selector does not. */
function escaped(text) {
  return text.replaceAll(/[^\w-]/g, (one) => `\\${one}`)
}
