// A facilitator of the published packages, as its operator would run it: `@x402/core` with the schemes of `@x402/evm` and
// `@x402/svm` behind express. It settles on the nodes that it is given, with a key of its own.
//   node facilitator-server.mjs KEY BASE_RPC SOLANA_RPC
// KEY is 32 bytes in hexadecimal, the same key on both chains. Prints the address that it listens on.
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { toFacilitatorSvmSigner } from '@x402/svm'
import { ExactSvmScheme } from '@x402/svm/exact/facilitator'
import express from 'express'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'

const [key, baseRpc, solanaRpc] = process.argv.slice(2)
const account = privateKeyToAccount(`0x${key}`)
// The block time of the local chain is a second.
const client = createWalletClient({ account, chain: base, transport: http(baseRpc), pollingInterval: 100 }).extend(publicActions)
const evm = toFacilitatorEvmSigner({
  address: account.address,
  getCode: (args) => client.getCode(args),
  readContract: (args) => client.readContract({ ...args, args: args.args ?? [] }),
  verifyTypedData: (args) => client.verifyTypedData(args),
  writeContract: (args) => client.writeContract({ ...args, args: args.args ?? [] }),
  sendTransaction: (args) => client.sendTransaction(args),
  waitForTransactionReceipt: (args) => client.waitForTransactionReceipt(args),
})
const feePayer = await createKeyPairSignerFromPrivateKeyBytes(Buffer.from(key, 'hex'))
const svm = toFacilitatorSvmSigner(feePayer, { defaultRpcUrl: solanaRpc })
const facilitator = new x402Facilitator()
  .register('eip155:8453', new ExactEvmScheme(evm))
  .register('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', new ExactSvmScheme(svm))

const app = express()
app.use(express.json())
const answers = (what) => async (request, response) => {
  try {
    response.json(await what(request.body ?? {}))
  } catch (error) {
    console.error(error)
    response.status(500).json({ error: String(error) })
  }
}
app.get('/supported', answers(async () => facilitator.getSupported()))
app.post('/verify', answers((body) => facilitator.verify(body.paymentPayload, body.paymentRequirements)))
app.post('/settle', answers((body) => facilitator.settle(body.paymentPayload, body.paymentRequirements)))

const listening = app.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${listening.address().port}`))
// Exits with the process that started it.
process.stdin.resume().on('end', () => process.exit(0))
