// One call through one stock client. Prints one JSON object: the final answer (or the error that the client gave up
// with), every exchange on the wire before it, and the wallet's address.
//   node call.mjs URL '{"client":"x402|mppx|extension|wrapper","chain":"base|solana","key":"HEX", …}'
// Further members: rpc (Solana's JSON-RPC), cap (the client's own limit, like "$100"), withoutBlockhash (the server's
// hint is cut out of the challenge on its way, so that the client has to ask the chain), withoutMpp (the MPP challenge is
// cut out), name (the purchase's payment identifier).
import { Receipt } from 'mppx'
import { extensionSignIn, mppxBuyer, wallet, wrapperSignIn, x402Buyer } from './clients.mjs'

const [url, json] = process.argv.slice(2)
const options = JSON.parse(json)
const buyers = { x402: x402Buyer, mppx: mppxBuyer, extension: extensionSignIn, wrapper: wrapperSignIn }

const wire = globalThis.fetch
const exchanges = []
const rpcMethods = []

async function send(input, init) {
  const request = new Request(input, init)
  const answer = await wire(request)
  exchanges.push({
    method: request.method,
    url: request.url,
    sent: Object.fromEntries(request.headers),
    status: answer.status,
    received: Object.fromEntries(answer.headers),
  })
  if (options.withoutMpp) return changed(answer, (headers) => headers.delete('www-authenticate'))
  return options.withoutBlockhash ? withoutBlockhash(answer) : answer
}

function changed(answer, change) {
  const headers = new Headers(answer.headers)
  change(headers)
  return new Response(answer.body, { status: answer.status, headers })
}

function withoutBlockhash(answer) {
  const header = answer.headers.get('payment-required')
  if (!header) return answer
  const required = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
  for (const offer of required.accepts) {
    delete offer.extra.recentBlockhash
    delete offer.extra.lastValidBlockHeight
  }
  const without = Buffer.from(JSON.stringify(required)).toString('base64')
  return changed(answer, (headers) => headers.set('payment-required', without))
}

// The Solana library has no fetch of its own to give it; it uses the global one.
globalThis.fetch = async (input, init) => {
  if (options.rpc && String(input?.url ?? input) === options.rpc) rpcMethods.push(JSON.parse(init.body).method)
  return wire(input, init)
}

const outcome = { wallet: (await wallet(options.chain, options.key)).address }
try {
  const call = await buyers[options.client](send, options)
  const answer = await call(url)
  const text = await answer.text()
  outcome.status = answer.status
  outcome.headers = Object.fromEntries(answer.headers)
  if (answer.headers.has('payment-receipt')) outcome.receipt = Receipt.fromResponse(answer)
  try {
    outcome.body = JSON.parse(text)
  } catch {
    outcome.body = text
  }
} catch (error) {
  outcome.gaveUp = String(error?.message ?? error)
}
console.log(JSON.stringify({ ...outcome, exchanges, rpcMethods }))
