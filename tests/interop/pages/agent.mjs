// An agent in a process of its own, until its input ends: `AGENT='{"url": …, "token": …, "work": …}' node agent.mjs`. It
// prints a line of JSON for each call, with the moments at which it began and ended.
//   spends   calls without a pause: reads, sends from its wallet, and buys; its own wallet's token or an API key's
//   asks     sends more than the owner's limit: waits for the answer, then does it, and goes on with a small amount
const { url, token, work, to, note = 'lunch' } = JSON.parse(process.env.AGENT)

let ended = false
process.stdin.resume().on('end', () => { ended = true })

const say = (line) => console.log(JSON.stringify(line))
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function call(route, data, headers = {}) {
  const request = data === undefined ? {} : { method: 'POST', body: JSON.stringify({ data }) }
  const began = Date.now()
  const answer = await fetch(url + route, { ...request, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers } })
  const body = await answer.json()
  return { route, began, ended: Date.now(), status: answer.status, code: body.code ?? body.error?.code ?? null, body }
}

const read = () => call('/list-payments')
const send = (amountUsdc, headers) => call('/agentWalletTransfer', { toAddress: to, amountUsdc, note }, headers)
const buy = () => call('/agentX402Pay', { route: '/get-card', params: { amount: '5' }, expectedNetwork: 'base' })

async function spends() {
  const calls = [read, () => send('0.01'), read, buy]
  for (let at = 0; !ended; at += 1) {
    const { body: _, ...line } = await calls[at % calls.length]()
    say(line)
    // Refusals are quick; a real agent would not ask on without a pause either.
    if (line.status >= 400) await pause(10)
  }
}

async function asks() {
  const key = { 'idempotency-key': `ask ${note}` }
  const asked = await send('2', key)
  const id = asked.body.result?.approvalId
  say({ asked: asked.status, id })
  let status = 'pending'
  while (!ended && status === 'pending') {
    await pause(50)
    status = (await call(`/get-approval?approval_id=${id}`)).body.status
  }
  say({ answered: status })
  const again = await send('2', key)
  say({ done: again.status, code: again.code })
  const small = await send('1')
  say({ goes_on: small.status, code: small.code })
}

await { spends, asks }[work]()
process.exit(0)
