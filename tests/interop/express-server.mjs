// A seller and its facilitator in one process, of the published packages: `@x402/express` with `@x402/core` and `@x402/evm`. It
// settles each payment on a node of Base before it answers. The benches measure against it.
//   node express-server.mjs KEY BASE_RPC|no-chain PAY_TO
// KEY is 32 bytes in hexadecimal and pays for gas. Prints the address that it listens on; GET /page costs one cent.
// With `no-chain` every question to a chain is answered at once: what remains is HTTP and the checks of the payment.
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme as EvmFacilitator } from '@x402/evm/exact/facilitator'
import { ExactEvmScheme as EvmServer } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import { randomBytes } from 'node:crypto'
import { createWalletClient, http, publicActions } from 'viem'
import { nonceManager, privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'

const [key, rpc, payTo] = process.argv.slice(2)
const BASE = 'eip155:8453'
// Without the manager two payments at a time take the same nonce.
const account = privateKeyToAccount(`0x${key}`, { nonceManager })
const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
const noChain = {
  getCode: async ({ address }) => (address.toLowerCase() === USDC ? '0x6001' : undefined),
  readContract: async () => undefined,
  writeContract: async () => `0x${randomBytes(32).toString('hex')}`,
  waitForTransactionReceipt: async () => ({ status: 'success' }),
}
const client = createWalletClient({ account, chain: base, transport: http(rpc), pollingInterval: 50 }).extend(publicActions)
const onChain = toFacilitatorEvmSigner({ ...client, address: account.address })
const signer = rpc === 'no-chain' ? { ...onChain, ...noChain } : onChain
const facilitator = new x402Facilitator().register(BASE, new EvmFacilitator(signer))
const server = new x402ResourceServer({
  verify: (payload, requirements) => facilitator.verify(payload, requirements),
  settle: (payload, requirements) => facilitator.settle(payload, requirements),
  getSupported: async () => facilitator.getSupported(),
}).register(BASE, new EvmServer())

const app = express()
app.disable('x-powered-by')
const accepts = [{ scheme: 'exact', price: '$0.01', network: BASE, payTo }]
app.use(paymentMiddleware({ 'GET /page': { accepts, description: 'a page', mimeType: 'application/json' } }, server))
app.get('/page', (_request, response) => response.json({ page: 'bought' }))

const listening = app.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${listening.address().port}`))
// Exits with the process that started it.
process.stdin.resume().on('end', () => process.exit(0))
