// A seller made of the published server packages: `@x402/express` in front of a page, and a facilitator of the same packages
// that settles on the sandbox's chains: on Solana by JSON-RPC as on any node, on Base by the sandbox's own route.
//   node seller.mjs SOLANA_SEED EVM_PAY_TO
// It prints its listen address. POST /settles-on then names the sandbox. One page for each behaviour: /page sells;
// /refuses rejects every payment; /hangs does not settle and never responds; /takes settles each payment without a
// response, and sells when the request is repeated.
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme as EvmFacilitator } from '@x402/evm/exact/facilitator'
import { ExactEvmScheme as EvmServer } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import { toFacilitatorSvmSigner } from '@x402/svm'
import { ExactSvmScheme as SvmFacilitator } from '@x402/svm/exact/facilitator'
import { ExactSvmScheme as SvmServer } from '@x402/svm/exact/server'
import express from 'express'

const [seed, evmPayTo] = process.argv.slice(2)
const BASE = 'eip155:8453'
const SOLANA = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
const feePayer = await createKeyPairSignerFromPrivateKeyBytes(Buffer.from(seed, 'hex'))

let sandbox
const chain = () => `${sandbox}/sandbox/solana`
// Reads that a facilitator makes before it settles, as for an ordinary account that has the money.
const evm = toFacilitatorEvmSigner({
  address: evmPayTo,
  getCode: async ({ address }) => (address.toLowerCase() === USDC ? '0x6001' : undefined),
  readContract: async () => undefined,
  verifyTypedData: async () => true,
  writeContract: async () => Promise.reject(new Error('the sandbox takes the payment itself')),
  sendTransaction: async () => Promise.reject(new Error('the sandbox takes the payment itself')),
  waitForTransactionReceipt: async () => ({ status: 'success' }),
})

function facilitator() {
  return new x402Facilitator()
    .register(BASE, new EvmFacilitator(evm))
    .register(SOLANA, new SvmFacilitator(toFacilitatorSvmSigner(feePayer, { defaultRpcUrl: chain() })))
}

async function settledOnBase(payload) {
  const payment = Buffer.from(JSON.stringify(payload)).toString('base64')
  const answer = await fetch(`${sandbox}/sandbox/base`, { method: 'POST', body: JSON.stringify({ payment }) })
  const result = await answer.json()
  const payer = payload.payload.authorization.from
  if (!result.success) return { success: false, errorReason: result.reason ?? 'unexpected', transaction: '', network: BASE, payer }
  return { success: true, transaction: result.transaction, network: BASE, payer }
}

const settle = (payload, requirements) =>
  requirements.network === BASE ? settledOnBase(payload) : facilitator().settle(payload, requirements)
const taken = new Map()
const behaviours = {
  page: { settle },
  refuses: { settle, verify: async () => ({ isValid: false, invalidReason: 'insufficient_funds' }) },
  hangs: { settle: () => new Promise(() => {}) },
  takes: {
    settle: async (payload, requirements) => {
      const id = JSON.stringify(payload.payload)
      if (taken.has(id)) return taken.get(id)
      taken.set(id, await settle(payload, requirements))
      return new Promise(() => {})
    },
  },
}

const app = express()
app.disable('x-powered-by')
app.post('/settles-on', express.text({ type: () => true }), (request, response) => {
  sandbox = request.body
  for (const [name, behaviour] of Object.entries(behaviours)) sells(name, behaviour)
  response.json({ feePayer: feePayer.address })
})

const sellers = new Map()
function sells(name, behaviour) {
  const published = facilitator()
  const server = new x402ResourceServer({
    verify: behaviour.verify ?? ((payload, requirements) => published.verify(payload, requirements)),
    settle: behaviour.settle,
    getSupported: async () => published.getSupported(),
  })
    .register(BASE, new EvmServer())
    .register(SOLANA, new SvmServer())
  const accepts = [
    // The sandbox's token has a name of its own: stock code signs and verifies what the terms name.
    {
      scheme: 'exact',
      price: { asset: USDC, amount: '250000', extra: { name: 'Purser Sandbox USDC', version: '2' } },
      network: BASE,
      payTo: evmPayTo,
    },
    { scheme: 'exact', price: '$0.25', network: SOLANA, payTo: feePayer.address },
  ]
  sellers.set(`/${name}`, paymentMiddleware({ [`GET /${name}`]: { accepts, description: 'a page', mimeType: 'application/json' } }, server))
}
app.use((request, response, next) => (sellers.get(request.path) ?? ((_a, _b, go) => go()))(request, response, next))
for (const name of Object.keys(behaviours)) app.get(`/${name}`, (_request, response) => response.json({ page: name }))

const listening = app.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${listening.address().port} ${feePayer.address}`))
// Exits with the process that started it.
process.stdin.resume().on('end', () => process.exit(0))
