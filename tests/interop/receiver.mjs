// A receiver of webhooks as its author would write it: the published library says whether a message is ours.
// Prints where it listens; takes the secret as the first line of its input; then prints what it makes of each message.
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { Webhook } from 'standardwebhooks'

let resolveSecret
const secret = new Promise((resolve) => (resolveSecret = resolve))
createInterface({ input: process.stdin }).once('line', resolveSecret)

const judge = async (body, headers) => {
  try {
    return { event: new Webhook(await secret).verify(body, headers).type }
  } catch (error) {
    return { error: error.message }
  }
}

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  response.end()
  const body = Buffer.concat(chunks).toString()
  const changed = await judge(body.replace('webhook.test', 'webhook.fest'), request.headers)
  console.log(JSON.stringify({ ...(await judge(body, request.headers)), changed }))
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
