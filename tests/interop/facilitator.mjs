// The published x402 code as a judge of payments: decoding, matching and verification as its resource server and its
// facilitator do them, with a chain on which every account is an ordinary one and every simulation succeeds.
//   node facilitator.mjs UNIX_SECONDS FEE_PAYER < cases.jsonl > verdicts.jsonl
// A case is {"header": "...", "accepts": [...]}; a verdict is {"offer": n, "payer": "..."} or {"refused": "why"}.
import { createInterface } from 'node:readline'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import { parsePaymentPayload } from '@x402/core/schemas'
import { x402ResourceServer } from '@x402/core/server'
import { ExactEvmScheme as EvmFacilitator } from '@x402/evm/exact/facilitator'
import { ExactEvmScheme as EvmServer } from '@x402/evm/exact/server'
import { ExactSvmScheme as SvmFacilitator } from '@x402/svm/exact/facilitator'
import { ExactSvmScheme as SvmServer } from '@x402/svm/exact/server'

const [now, feePayer] = process.argv.slice(2)
Date.now = () => Number(now) * 1000
// What the packages tell their operator about each refusal.
console.error = console.warn = () => {}

const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
const evm = new EvmFacilitator({
  getAddresses: () => [],
  getCode: async ({ address }) => (address.toLowerCase() === USDC ? '0x6001' : undefined),
  readContract: async () => undefined,
})
// The caps that we set ourselves, set there too.
const svm = new SvmFacilitator(
  { getAddresses: () => [feePayer], simulateTransaction: async () => {} },
  undefined,
  { maxComputeUnits: 200_000, maxRequiredSignatures: 2 },
)
const server = new x402ResourceServer()
  .register('eip155:8453', new EvmServer())
  .register('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', new SvmServer())

async function judge({ header, accepts }) {
  let payment
  try {
    payment = decodePaymentSignatureHeader(header)
  } catch {
    return { refused: 'undecodable' }
  }
  const parsed = parsePaymentPayload(payment)
  if (!parsed.success) return { refused: 'malformed' }
  if (payment.x402Version !== 2) return { refused: 'version' }
  const offer = accepts.indexOf(server.findMatchingRequirements(accepts, payment))
  if (offer < 0) return { refused: 'no_match' }
  const scheme = accepts[offer].network.startsWith('eip155:') ? evm : svm
  try {
    const verdict = await scheme.verify(payment, accepts[offer])
    return verdict.isValid ? { offer, payer: verdict.payer } : { refused: verdict.invalidReason }
  } catch {
    return { refused: 'thrown' }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await judge(JSON.parse(line)))}\n`)
}
