// A running service, and the agents and operators that call it from processes of their own.
import { spawn, execFile } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { check, until } from './browser.mjs'

const run = promisify(execFile)

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

export class Service {
  #program
  #settings
  #child
  folder = mkdtempSync(path.join(tmpdir(), 'purser-pages-'))

  static async start(program, settings = {}) {
    const service = new Service()
    service.#program = program
    const [port, operatorPort] = [await freePort(), await freePort()]
    // By name: a passkey belongs to a name, and an address is none.
    service.url = `http://localhost:${port}`
    service.deskUrl = `http://localhost:${operatorPort}`
    service.#settings = {
      PURSER_SERVER__PUBLIC_URL: service.url,
      PURSER_OPERATOR__LISTEN: `127.0.0.1:${operatorPort}`,
      PURSER_STORAGE__SEGMENT_BYTES: '1048576',
      PURSER_LIMITS__REQUESTS_PER_WINDOW: '1000000',
      PURSER_SIGNUP__PER_MINUTE: '100',
      PURSER_SIGNUP__PER_HOUR: '100',
      ...settings,
    }
    await service.run()
    return service
  }

  get data() {
    return path.join(this.folder, 'data')
  }

  /** Starts it on its directory and its ports. */
  async run() {
    const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PURSER_'))
    const listen = this.url.replace('http://localhost', '127.0.0.1')
    const child = spawn(this.#program, ['serve', '--listen', listen, '--data', this.data], {
      env: { ...Object.fromEntries(kept), ...this.#settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stderr.pipe(createWriteStream(path.join(this.folder, 'log'), { flags: 'a' }))
    this.#child = child
    const lines = createInterface({ input: child.stdout })
    for await (const line of lines) {
      if (/^(Purser is listening|It listens)/.test(line)) {
        child.stdout.resume()
        return
      }
    }
    throw new Error(`purser ended: ${readFileSync(path.join(this.folder, 'log'), 'utf8')}`)
  }

  /** As `kill -9`. */
  async kill() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }

  async close() {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** An agent with a wallet of its own. */
  agent(name) {
    return new Agent(this, name)
  }

  /** Runs the command line to its end and returns what it printed. */
  async cli(args) {
    const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PURSER_'))
    const { stdout } = await run(this.#program, args, { env: { ...Object.fromEntries(kept), NO_PROXY: '127.0.0.1,localhost' } })
    return stdout.trim()
  }

  /** An operator's command. */
  admin(...args) {
    return this.cli(['admin', '--url', this.deskUrl, '--data', this.data, ...args])
  }

  /** What its processes have logged. */
  log() {
    return readFileSync(path.join(this.folder, 'log'), 'utf8')
  }

  /** An agent that works in a process of its own until it is ended; see `agent.mjs`. */
  works(work) {
    return new WorkingAgent({ url: this.url, ...work })
  }

  async get(route, headers = {}) {
    return this.#answer(await fetch(this.url + route, { headers, redirect: 'manual' }))
  }

  async post(route, body, headers = {}) {
    const isText = typeof body === 'string'
    const kind = isText ? 'application/x-www-form-urlencoded' : 'application/json'
    const request = { method: 'POST', redirect: 'manual', headers: { 'content-type': kind, ...headers }, body: isText ? body : JSON.stringify(body) }
    return this.#answer(await fetch(this.url + route, request))
  }

  async #answer(response) {
    const text = await response.text()
    let body = null
    try {
      body = JSON.parse(text)
    } catch {
      // A page.
    }
    return { status: response.status, headers: response.headers, text, body }
  }
}

export class Agent {
  #service
  #wallet

  constructor(service, name) {
    this.#service = service
    this.#wallet = path.join(service.folder, `${name}.json`)
  }

  /** Pays for a route, in a process of its own. */
  async pay(route, network = 'base') {
    const args = ['pay', '--json', '--max-usd', '10000', '--network', network, '--wallet', this.#wallet]
    return JSON.parse(await this.#service.cli([...args, this.#service.url + route]))
  }

  /** A token of a sign-in with the wallet, which has all rights of the account's owner. */
  async token(network = 'base') {
    return this.#service.cli(['token', '--network', network, '--wallet', this.#wallet, this.#service.url])
  }

  /** The token that came with the wallet's first payment. It reads, and acts for the payment only. */
  paymentToken() {
    const [tokens] = Object.values(JSON.parse(readFileSync(this.#wallet.replace('.json', '.tokens.json'), 'utf8')))
    return tokens.id_token
  }

  async bearer(network) {
    return { authorization: `Bearer ${await this.token(network)}` }
  }

  async get(route, network) {
    return this.#service.get(route, await this.bearer(network))
  }

  async post(route, body) {
    return this.#service.post(route, body, await this.bearer())
  }

  /** A login link for the account's owner. */
  async link(network) {
    const answer = await this.get('/get-auth-link', network)
    check(answer.status === 200, answer.text)
    return answer.body.auth_url
  }

  async address() {
    return (await this.get('/get-account-balance')).body.user_id
  }

  /** The address of the wallet on a chain, in capitals and small letters as it is. */
  async wallet(network) {
    return JSON.parse(await this.#service.cli(['wallet', '--json', '--wallet', this.#wallet]))[network]
  }

  /** A callable function, as the wallet itself. It must succeed. */
  async call(name, data = {}, token = undefined) {
    const headers = token ? { authorization: `Bearer ${token}` } : await this.bearer()
    const answer = await this.#service.post(`/${name}`, { data }, headers)
    check(answer.status < 300, `${name}: ${answer.status} ${answer.text}`)
    return answer.body.result
  }

  /** An API key of the account, with a token of it. */
  async key(name) {
    const made = await this.call('createAgentApiKey', { name })
    const exchanged = await this.call('agentAuth', {}, made.apiKey)
    return { id: made.key.apiKeyId, secret: made.apiKey, token: exchanged.idToken }
  }
}

/** A process that runs `agent.mjs`. */
export class WorkingAgent {
  #child
  lines = []

  constructor(work) {
    const script = path.join(path.dirname(fileURLToPath(import.meta.url)), 'agent.mjs')
    this.#child = spawn(process.execPath, [script], { env: { ...process.env, AGENT: JSON.stringify(work) }, stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.lines.push(JSON.parse(line)))
  }

  /** The first line that has this member. */
  async says(member) {
    return until(`the agent says ${member}`, () => {
      check(this.#child.exitCode === null || this.lines.some((line) => member in line), `the agent ended: ${JSON.stringify(this.lines)}`)
      return this.lines.find((line) => member in line)
    })
  }

  async end() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.stdin.end()
    await ended
  }
}
