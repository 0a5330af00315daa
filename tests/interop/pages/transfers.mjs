// Money on its way, as the owner sees it: each leg while it happens, and where the money is when something fails.
import { check, until } from './browser.mjs'
import { assertNotReloaded, mark, signIn } from './people.mjs'

// Slow enough that a person can watch each step.
export const settings = {
  PURSER_SANDBOX__ATTESTATION_DELAY_MS: '6000',
  PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS: '4000',
  PURSER_SANDBOX__PAYOUT_DELAY_MS: '600000',
}

const BANK = { destination_type: 'fiat_us', bank_name: 'Fernhill Savings', routing_number: '021000021', account_number: '000123456789', nickname: 'Rent' }

async function watch({ browser, service }, agent, path, network) {
  const visitor = await browser.visitor()
  await signIn(visitor, agent, network)
  await visitor.open(`${service.url}/dashboard${path}`)
  await visitor.sees('.connection', 'Live')
  await until('the page', async () => (await visitor.count('[aria-busy=true]')) === 0)
  return visitor
}

const line = async (visitor) => (await visitor.text('.stops')).replaceAll(/\s+/g, ' ')

export const scenarios = {
  async "a top-up's timeline moves while a person watches"({ browser, service }) {
    const agent = service.agent('loader')
    const wallet = await agent.wallet('solana')
    const linked = await service.post('/sandbox/link', { wallet, linked: true })
    check(linked.status === 200, linked.text)
    const visitor = await watch({ browser, service }, agent, '/transfers', 'solana')
    await mark(visitor)
    const bought = await agent.pay('/fund-card-balance?amount=25', 'solana')
    // It appears in the open list, and its page opens without a reload.
    await visitor.press(`a[href="/dashboard/transfers/${bought.top_up_id}"]`)
    await visitor.sees('#where', 'Where the money is')
    await visitor.sees('.stops', 'Minting on Base')
    await visitor.sees('#where', 'the bridge owes it to your deposit address')
    const seen = [await line(visitor)]
    await visitor.sees('.stops', 'Minted on Base')
    seen.push(await line(visitor))
    await visitor.sees('#where', 'at your own deposit address')
    await visitor.sees('h1', 'Top-up credited')
    await visitor.sees('#where', '$25.00 is on your card balance.')
    seen.push(await line(visitor))
    check(new Set(seen).size === 3, `the steps moved: ${seen.join('\n')}`)
    await assertNotReloaded(visitor)
    const legs = await visitor.text('table')
    for (const leg of ['Payment', 'Burned on Solana', 'Minted on Base', 'Credited to your cards']) check(legs.includes(leg), `${leg}: ${legs}`)
    await visitor.sees('.log', 'by the card issuer')
    await visitor.inspect('holder-top-up')
    // What Home says of it names who did it. The only wallet of an account needs no name.
    await visitor.open(`${service.url}/dashboard`)
    await visitor.sees('main .feed', 'Your agent topped up your card balance from Solana.')
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a failed payout says where the money is, and leads to its line in the statement'({ browser, service }) {
    const agent = service.agent('payer')
    const wallet = await agent.address()
    const registered = await service.post('/sandbox/bank-recipients', { wallet, name: 'Odile Ferrand', destinations: [BANK] })
    check(registered.status === 200, registered.text)
    const bought = await agent.pay(`/send-bank-payment?amount=50&destination_id=${registered.body.destination_ids[0]}`)
    const id = bought.bank_payment.payout_id
    const visitor = await watch({ browser, service }, agent, `/transfers/${id}`)
    await mark(visitor)
    await visitor.sees('#where', 'is with the bank, on its way to the recipient')
    const failed = await service.post('/sandbox/payouts', { payout_id: id, event: 'failed' })
    check(failed.status === 200, failed.text)
    await visitor.sees('h1', 'Payout ended, and its price is back')
    await visitor.sees('#where', '$51.50 is on your balance, the fee included. The recipient got nothing.')
    await visitor.sees('table', 'The price is back on your balance')
    await visitor.sees('#receipt', 'Cost in the end $0.00')
    await assertNotReloaded(visitor)
    await visitor.inspect('holder-payout-failed')
    await visitor.press('#where a', 'See it in the statement')
    await visitor.sees('tr.marked', 'Money back: $50.00 bank payment, refused')
    await visitor.press('tr.marked a')
    await visitor.sees('h1', 'Payout ended')
    await assertNotReloaded(visitor)
    visitor.assertClean(service.url)
    await visitor.close()
  },

  async 'a card that was not made is listed, with what came back of it'({ browser, service }) {
    const agent = service.agent('unlucky')
    // The issuer declines a card of this amount after the payment.
    const bought = await agent.pay('/get-card?amount=6.66')
    const visitor = await watch({ browser, service }, agent, '/cards')
    await visitor.sees('table', 'Not made, credited')
    await visitor.sees('table', '+$6.66')
    await visitor.press(`a[href="/dashboard/cards/${bought.card_id}"]`)
    await visitor.sees('#receipt', 'Came back')
    await visitor.sees('#receipt', 'Cost in the end $0.00')
    await visitor.inspect('holder-card-failed')
    await visitor.press('#receipt a', 'pay_')
    await visitor.sees('h1', 'Payment: US card')
    await visitor.sees('main', 'was not delivered, so $6.66 is back on your balance')
    await visitor.sees('.log', 'tried to buy a $6.66 US card')
    await visitor.sees('#receipt', '6.660000')
    await visitor.inspect('holder-payment')
    visitor.assertClean(service.url)
    await visitor.close()
  },
}
