// Starts a Solana runtime (Agave inside surfpool) on a free port of loopback, with the mint of mainnet USDC.
//   node start.mjs SLOT_MS AUTHORITY
// AUTHORITY, 32 bytes in hexadecimal, may mint and freeze. stdout: one line of JSON once it is ready. Ends with its stdin.
import { createRequire } from 'node:module'

const { Surfnet } = createRequire(import.meta.url)('@solana/surfpool-linux-x64-gnu')
const [slotMs, authority] = process.argv.slice(2)
const net = Surfnet.startWithConfig({ offline: true, blockProductionMode: 'clock', slotTimeMs: Number(slotMs) })

// SPL Token's mint: optional authority, supply, decimals, initialised, optional freeze authority.
const some = [1, 0, 0, 0, ...Buffer.from(authority, 'hex')]
const supply = new Uint8Array(new BigUint64Array([10n ** 15n]).buffer)
const mint = [...some, ...supply, 6, 1, ...some]
net.setAccount('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', 1_461_600, mint, 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')

const events = setInterval(() => net.drainEvents(), 500)
process.stdin.on('end', () => {
  clearInterval(events)
  try {
    net.stop()
  } finally {
    process.exit(0)
  }
})
process.stdin.resume()
console.log(JSON.stringify({ rpcUrl: net.rpcUrl }))
