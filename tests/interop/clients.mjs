// Unmodified published clients around our `fetch`. Only their inputs are chosen here.
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import {
  appendPaymentIdentifierToExtensions,
  PAYMENT_IDENTIFIER,
  validatePaymentIdentifier,
} from '@x402/extensions/payment-identifier'
import { createSIWxClientExtension, wrapFetchWithSIWx } from '@x402/extensions/sign-in-with-x'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm/exact/client'
import { evm, Mppx } from 'mppx/client'
import { privateKeyToAccount } from 'viem/accounts'

const BASE = 'eip155:8453'
const SOLANA = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'

/** The wallet of a 32-byte key in hex on either chain. */
export async function wallet(chain, key) {
  return chain === 'base'
    ? privateKeyToAccount(`0x${key}`)
    : createKeyPairSignerFromPrivateKeyBytes(Buffer.from(key, 'hex'))
}

/** Names each purchase so, with the published helper, which does nothing where the server has not declared it. */
function naming(name) {
  return {
    key: PAYMENT_IDENTIFIER,
    enrichPaymentPayload: async (payload) => {
      const extensions = appendPaymentIdentifierToExtensions(structuredClone(payload.extensions ?? {}), name)
      const verdict = validatePaymentIdentifier(extensions[PAYMENT_IDENTIFIER])
      if (!verdict.valid) throw new Error(verdict.errors.join(', '))
      return { ...payload, extensions }
    },
  }
}

/** `@x402/fetch`. Without `cap` its own spending limit stays as shipped. */
export async function x402Buyer(send, { chain, key, rpc, cap, name }) {
  const client = new x402Client()
  if (name) client.registerExtension(naming(name))
  if (cap) client.setSpendControls({ maxAmountPerPayment: cap })
  const signer = await wallet(chain, key)
  if (chain === 'base') client.register(BASE, new ExactEvmScheme(signer))
  else client.register(SOLANA, new ExactSvmScheme(signer, { rpcUrl: rpc }))
  return wrapFetchWithPayment(send, client)
}

// The sandbox's token: where MPP names it, it is at an address that the real chain has no contract at.
const SANDBOX_USDC = evm.assets.define({
  address: '0x97Dd8e3392EDb7FFb4aA1E4E8d653314d1d26020',
  decimals: 6,
  network: BASE,
  transfer: { name: 'Purser Sandbox USDC', type: 'eip3009', version: '2' },
})

/** `mppx`, which also speaks x402 on EVM chains. With `real` it knows the real USDC alone, as shipped. */
export async function mppxBuyer(send, { key, real }) {
  const currencies = real ? [evm.assets.base.USDC] : [evm.assets.base.USDC, SANDBOX_USDC]
  const charge = evm.charge({ account: await wallet('base', key), currencies, networks: [8453] })
  return Mppx.create({ methods: [charge], polyfill: false, fetch: send }).fetch
}

/** Sign-in as an extension of the paying client. */
export async function extensionSignIn(send, { chain, key }) {
  const signers = [await wallet(chain, key)]
  return wrapFetchWithPayment(send, new x402Client().registerExtension(createSIWxClientExtension({ signers })))
}

/** Sign-in as a wrapper of its own. */
export async function wrapperSignIn(send, { chain, key }) {
  return wrapFetchWithSIWx(send, await wallet(chain, key))
}
