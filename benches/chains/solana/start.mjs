// Solana for benches: the SVM of LiteSVM behind the JSON-RPC methods that the service calls, one block each SLOT_MS.
//   node start.mjs SLOT_MS
// Prints its URL. As on mainnet, a block takes at most 12,000,000 compute units of transactions that write one account: some 300
// payments to one treasury. What was sent is executed in a block, confirmed by the next and final 31 later; blockhashes live for
// 150 blocks. There is one fork, and no WebSocket. What fails in the SVM is answered with an error: benches send what settles.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { base58, fromBase58, parse } from './wire.mjs'

const { Account, FailedTransactionMetadata, LiteSvm } = createRequire(import.meta.url)('litesvm-linux-x64-gnu')
const MAINNET = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111'
const FIRST_SLOT = 400_000_000
const BLOCKHASH_BLOCKS = 150
const FINAL_AFTER = 31
const UNITS_PER_ACCOUNT = 12_000_000

const svm = new LiteSvm()
svm.setBlockhashCheck(false)
svm.setTransactionHistory(0n)
let slot = FIRST_SLOT
let blockhash = svm.latestBlockhash()
const lastValid = new Map([[blockhash, slot + BLOCKHASH_BLOCKS]])
let queue = []
const queued = new Set()
const landed = new Map()
const byAccount = new Map()

// ---- accounts

function tokenAccount(owner, amount) {
  const data = Buffer.alloc(165)
  data.set(fromBase58(USDC), 0)
  data.set(fromBase58(owner), 32)
  data.writeBigUInt64LE(BigInt(amount), 64)
  data[108] = 1
  return data
}

function mint() {
  const data = Buffer.alloc(82)
  data[44] = 6
  data[45] = 1
  return data
}

function put(address, data, owner, lamports) {
  svm.setAccount(fromBase58(address), new Account(BigInt(lamports), data, fromBase58(owner), false, 0n))
}

function accountOf(address) {
  const account = svm.getAccount(fromBase58(address))
  if (!account) return null
  const data = Buffer.from(account.data())
  return { lamports: Number(account.lamports()), owner: base58(account.owner()), executable: account.executable(), data }
}

function tokensOf(keys) {
  const found = []
  keys.forEach((key, accountIndex) => {
    const account = svm.getAccount(fromBase58(key))
    if (!account) return
    const data = account.data()
    if (data.length !== 165 || base58(account.owner()) !== TOKEN) return
    const amount = Buffer.from(data.buffer, data.byteOffset + 64, 8).readBigUInt64LE().toString()
    const [tokenMint, owner] = [base58(data.subarray(0, 32)), base58(data.subarray(32, 64))]
    found.push({ accountIndex, mint: tokenMint, owner, programId: TOKEN, uiTokenAmount: { amount, decimals: 6 } })
  })
  return found
}

put(USDC, mint(), TOKEN, 1_461_600)

// ---- blocks

/** What a transaction reserves in its block, in compute units. */
function cost(wire) {
  let limit = 200_000 * wire.instructions.length
  for (const { program, data } of wire.instructions) {
    if (wire.keys[program] === COMPUTE_BUDGET && data[0] === 2) limit = data.readUInt32LE(1)
  }
  return 720 * wire.signatures.length + 300 * wire.writable.length + limit + 16_384
}

function execute(wire) {
  if ((lastValid.get(wire.blockhash) ?? -1) < slot || landed.has(wire.id)) return
  const writable = wire.keys.filter((_, n) => wire.isWritable(n))
  const before = tokensOf(wire.keys)
  svm.setSigverify(true)
  const result = svm.sendVersionedTransaction(wire.bytes)
  if (result instanceof FailedTransactionMetadata) throw new Error(`a transaction failed: ${result.toString()}`)
  const blockTime = Math.floor(Date.now() / 1000)
  const record = { wire, slot, blockTime, before, after: tokensOf(wire.keys), units: Number(result.computeUnitsConsumed()) }
  landed.set(wire.id, record)
  for (const key of writable) {
    if (!byAccount.has(key)) byAccount.set(key, [])
    byAccount.get(key).push(wire.id)
  }
}

function block() {
  const used = new Map()
  let next = 0
  for (; next < queue.length; next++) {
    const wire = queue[next]
    const units = cost(wire)
    if (wire.writable.some((key) => (used.get(key) ?? 0) + units > UNITS_PER_ACCOUNT)) break
    for (const key of wire.writable) used.set(key, (used.get(key) ?? 0) + units)
    queued.delete(wire.id)
    execute(wire)
  }
  queue = queue.slice(next)
  slot += 1
  svm.expireBlockhash()
  blockhash = svm.latestBlockhash()
  lastValid.set(blockhash, slot + BLOCKHASH_BLOCKS)
  for (const [hash, last] of lastValid) {
    if (last >= slot) break
    lastValid.delete(hash)
  }
}

// ---- JSON-RPC

const wrapped = (value) => ({ context: { slot }, value })
const wireOf = (text) => parse(Buffer.from(text, 'base64'))
const at = (options) => (options?.commitment === 'finalized' ? slot - FINAL_AFTER : slot)

function statusOf(id) {
  const record = landed.get(id)
  if (!record) return null
  const isFinal = slot - record.slot >= FINAL_AFTER
  return {
    slot: record.slot,
    confirmations: isFinal ? null : slot - record.slot,
    err: null,
    status: { Ok: null },
    confirmationStatus: isFinal ? 'finalized' : 'confirmed',
  }
}

function transactionOf({ wire, ...record }) {
  const instructions = wire.instructions.map(({ program, accounts, data }) => ({
    programIdIndex: program,
    accounts: [...accounts],
    data: base58(data),
    stackHeight: 1,
  }))
  const [numRequiredSignatures, numReadonlySignedAccounts, numReadonlyUnsignedAccounts] = wire.header
  return {
    slot: record.slot,
    blockTime: record.blockTime,
    version: wire.version,
    transaction: {
      signatures: wire.signatures.map(base58),
      message: {
        accountKeys: wire.keys,
        header: { numRequiredSignatures, numReadonlySignedAccounts, numReadonlyUnsignedAccounts },
        recentBlockhash: wire.blockhash,
        instructions,
        addressTableLookups: [],
      },
    },
    meta: {
      err: null,
      status: { Ok: null },
      fee: 5000 * wire.signatures.length,
      preBalances: [],
      postBalances: [],
      preTokenBalances: record.before,
      postTokenBalances: record.after,
      innerInstructions: [],
      loadedAddresses: { writable: [], readonly: [] },
      computeUnitsConsumed: record.units,
    },
  }
}

function page(address, { before, until, limit = 1000 } = {}) {
  const ids = byAccount.get(address) ?? []
  const found = []
  let place = before ? ids.lastIndexOf(before) - 1 : ids.length - 1
  for (; place >= 0 && found.length < limit && ids[place] !== until; place--) {
    const { slot: own, blockTime } = landed.get(ids[place])
    const { confirmationStatus } = statusOf(ids[place])
    found.push({ signature: ids[place], slot: own, err: null, memo: null, blockTime, confirmationStatus })
  }
  return found
}

const methods = {
  getHealth: () => 'ok',
  getGenesisHash: () => MAINNET,
  getSlot: ([options]) => at(options),
  // Blocks before the first are empty and final.
  getFirstAvailableBlock: () => FIRST_SLOT - BLOCKHASH_BLOCKS,
  getEpochInfo: ([options]) => ({ absoluteSlot: at(options), blockHeight: at(options) }),
  getLatestBlockhash: () => wrapped({ blockhash, lastValidBlockHeight: lastValid.get(blockhash) }),
  isBlockhashValid: ([hash]) => wrapped((lastValid.get(hash) ?? -1) >= slot),
  getMinimumBalanceForRentExemption: ([bytes]) => Number(svm.minimumBalanceForRentExemption(BigInt(bytes))),
  getMultipleAccounts: ([addresses]) => {
    const account = (found) => found && { ...found, data: [found.data.toString('base64'), 'base64'], space: found.data.length, rentEpoch: 0 }
    return wrapped(addresses.map((address) => account(accountOf(address))))
  },
  simulateTransaction: ([text, { sigVerify }]) => {
    const wire = wireOf(text)
    if ((lastValid.get(wire.blockhash) ?? -1) < slot) throw new Error('the blockhash is not valid')
    svm.setSigverify(Boolean(sigVerify))
    const result = svm.simulateVersionedTransaction(wire.bytes)
    if (result instanceof FailedTransactionMetadata) throw new Error(`a simulation failed: ${result.toString()}`)
    return wrapped({ err: null, logs: [], unitsConsumed: Number(result.meta().computeUnitsConsumed()), accounts: null, returnData: null })
  },
  sendTransaction: ([text]) => {
    const wire = wireOf(text)
    if (!landed.has(wire.id) && !queued.has(wire.id)) {
      queued.add(wire.id)
      queue.push(wire)
    }
    return wire.id
  },
  getSignatureStatuses: ([ids]) => wrapped(ids.map(statusOf)),
  getSignaturesForAddress: ([address, options]) => page(address, options),
  getTransaction: ([id, { commitment }]) => {
    const record = landed.get(id)
    return record && at({ commitment }) >= record.slot ? transactionOf(record) : null
  },
  // Not of Solana.
  setLamports: ([address, lamports]) => put(address, Buffer.alloc(0), '11111111111111111111111111111111', lamports),
  setUsdc: ([account, owner, amount]) => put(account, tokenAccount(owner, amount), TOKEN, 2_039_280),
}

function answer({ id, method, params = [] }) {
  try {
    if (!Object.hasOwn(methods, method)) throw new Error(`there is no method ${method}`)
    return { jsonrpc: '2.0', id, result: methods[method](params) ?? null }
  } catch (error) {
    console.error(method, error)
    return { jsonrpc: '2.0', id, error: { code: -32000, message: String(error) } }
  }
}

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks))
    const text = JSON.stringify(Array.isArray(body) ? body.map(answer) : answer(body))
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text)
  })
})
server.keepAliveTimeout = 60_000
setInterval(block, Number(process.argv[2]))
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
// It ends with the process that started it.
process.stdin.resume().on('end', () => process.exit(0))
