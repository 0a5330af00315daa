// Buys a card through the generated client with the published x402 client, and reads it until it is ready. Compiled by
// `tsc --strict` against the types and the client that were generated from the service's document.
//   node buy.js URL KEY
// Prints one JSON object: `card_id` and the statuses that the card had.
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { createClient } from './client/client/index.js'
import { buyCard, getCardData, type CardWithDetails } from './client/index.js'
import type { components, operations } from './types.js'

// What the two generators make of one schema must fit each other.
type Status = components['schemas']['CardStatus']
const sameStatus: Status extends CardWithDetails['status'] ? true : false = true
type Amount = operations['buyCard']['parameters']['query']['amount']

/** Every status has a case. One that the document adds makes this an error of the compiler. */
function isFinished(card: CardWithDetails): boolean {
  switch (card.status) {
    case 'pending':
      return false
    case 'ready':
    case 'paused':
    case 'failed':
    case 'closed':
    case 'expired':
      return true
    default: {
      const never: never = card.status
      throw new Error(`unknown status ${String(never)}`)
    }
  }
}

function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new Error(`${name} is missing`)
  return value
}

const [url, key] = process.argv.slice(2)
const baseUrl = required(url, 'URL')
const account = privateKeyToAccount(`0x${required(key, 'KEY')}`)
const buyer = new x402Client().register('eip155:8453', new ExactEvmScheme(account))
buyer.setSpendControls({ maxAmountPerPayment: '$10' })

const paying = createClient({ baseUrl, fetch: wrapFetchWithPayment(fetch, buyer) })
const amount: Amount = '5'
const bought = await buyCard({ client: paying, query: { amount }, throwOnError: true })
const purchase = bought.data
// The other variants, a credited charge and an unknown outcome, have other statuses and no card.
if (purchase.status !== 'pending') throw new Error(`not bought: ${JSON.stringify(purchase)}`)
const token = required(purchase.auth?.id_token, 'id_token')

const reading = createClient({ baseUrl, auth: token })
const statuses: string[] = []
for (let attempt = 0; attempt < 200; attempt += 1) {
  const read = await getCardData({ client: reading, query: { card_id: purchase.card_id }, throwOnError: true })
  const card = read.data
  if (!('card_type' in card) || card.card_type !== 'Non-Reloadable U.S.') throw new Error(`another card: ${JSON.stringify(card)}`)
  statuses.push(card.status)
  if (isFinished(card)) break
  await new Promise((resolve) => setTimeout(resolve, 100))
}
console.log(JSON.stringify({ card_id: purchase.card_id, statuses, sameStatus }))
