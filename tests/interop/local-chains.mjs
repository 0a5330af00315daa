// Base and Solana on this machine, with USDC, for a service in production (docs/production.md): anvil and surfpool.
//   node tests/interop/local-chains.mjs KEYS WALLET…  >  chains.env
// KEYS is what `purser keys create DIR --json` printed; each WALLET what `purser wallet --json` printed: it gets 1,000 USDC on
// both chains. Prints environment variables that name the chains in the settings, then runs until it is stopped.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const BASE_USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const SOLANA_USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'
const MAINNET_GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
const SLOT_MS = 400
const USDC = 1_000_000

const files = process.argv.slice(2)
if (files.length === 0) {
  console.error('usage: node local-chains.mjs KEYS WALLET…, files that `purser keys create DIR --json` and `purser wallet --json` wrote')
  process.exit(2)
}
const [keys, ...wallets] = files.map((file) => JSON.parse(readFileSync(file, 'utf8')))
const folder = (name) => fileURLToPath(new URL(`../../src/chains/tests/${name}`, import.meta.url))

/** Installs what the folder's lock file names, once. */
function install(name) {
  if (existsSync(`${folder(name)}/node_modules`)) return
  console.error(`installing ${name} …`)
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: folder(name), stdio: ['ignore', 2, 2] })
}

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0))

/** Starts a node and waits for the line of its output that `find` finds something in. */
function start(program, args, find) {
  const node = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  process.on('exit', () => node.kill())
  return new Promise((found, failed) => {
    node.on('exit', (status) => {
      failed(new Error(`${program} ended: ${status}`))
      process.exit(1)
    })
    createInterface(node.stdout).on('line', (line) => {
      const result = find(line)
      if (result) found(result)
    })
  })
}

async function call(url, method, ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json()
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}

async function base() {
  install('anvil')
  const program = `${folder('anvil')}/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil`
  const args = ['--port', '0', '--chain-id', '8453', '--network', 'optimism', '--block-time', '1', '--slots-in-an-epoch', '4']
  const url = await start(program, args, (line) => line.startsWith('Listening on ') && `http://${line.slice(13)}`)
  const contracts = JSON.parse(readFileSync(`${folder('anvil')}/contracts.json`, 'utf8')).runtime
  await call(url, 'anvil_setCode', BASE_USDC, contracts.USDC)
  await call(url, 'anvil_setCode', MULTICALL3, contracts.Batch)
  await call(url, 'anvil_setBalance', keys.base.fees, '0xde0b6b3a7640000')
  for (const wallet of wallets) await call(url, 'anvil_dealERC20', wallet.base, BASE_USDC, `0x${(1_000 * USDC).toString(16)}`)
  return url
}

async function solana() {
  install('surfpool')
  const args = [`${folder('surfpool')}/start.mjs`, String(SLOT_MS), '07'.repeat(32)]
  const url = await start('node', args, (line) => line.startsWith('{') && JSON.parse(line).rpcUrl)
  const holds = (owner, amount) =>
    call(url, 'surfnet_setTokenAccount', owner, SOLANA_USDC, { amount, state: 'initialized' })
  await call(url, 'surfnet_setAccount', keys.solana.fees, { lamports: 1_000_000_000 })
  await holds(keys.solana.treasury, 0)
  for (const wallet of wallets) await holds(wallet.solana, 1_000 * USDC)
  return asMainnet(url)
}

/** A node as mainnet: stock clients pay on no cluster of Solana that they do not know. */
function asMainnet(node) {
  const server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const answer = (text) => response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    try {
      const { id, method } = JSON.parse(body)
      if (method === 'getGenesisHash') return answer(JSON.stringify({ jsonrpc: '2.0', id, result: MAINNET_GENESIS }))
      const passed = await fetch(node, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      answer(await passed.text())
    } catch (error) {
      response.writeHead(502).end(String(error))
    }
  })
  return new Promise((found) => server.listen(0, '127.0.0.1', () => found(`http://127.0.0.1:${server.address().port}`)))
}

/** Two addresses of a node: a proof that a payment never settles needs two. */
function endpoints(url) {
  const both = [url, url.replace('127.0.0.1', 'localhost')]
  return `[${both.map((one) => `{ url = "${one}", rate = 1000, burst = 1000 }`).join(', ')}]`
}

const [baseUrl, solanaUrl] = await Promise.all([base(), solana()])
console.log(`export PURSER_CHAINS__BASE__ENDPOINTS='${endpoints(baseUrl)}'`)
console.log(`export PURSER_CHAINS__SOLANA__ENDPOINTS='${endpoints(solanaUrl)}'`)
console.log('# The chains run until this program is stopped.')
