// Solana's wire form of transactions, as far as the benches send it: without address lookup tables.

const DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const NINE_DIGITS = 58n ** 9n
const texts = new Map()
const keys = new Map()

/** Addresses come again and again: those of 32 bytes are kept. */
export function base58(bytes) {
  const kept = bytes.length === 32 ? Buffer.from(bytes).toString('latin1') : null
  const known = kept && texts.get(kept)
  if (known) return known
  let text = ''
  let number = bytes.length ? BigInt(`0x${Buffer.from(bytes).toString('hex')}`) : 0n
  // Nine digits at a time: a number holds no more.
  while (number > 0n) {
    let part = Number(number % NINE_DIGITS)
    number /= NINE_DIGITS
    for (let n = 0; number > 0n ? n < 9 : part > 0; n++) {
      text = DIGITS[part % 58] + text
      part = Math.floor(part / 58)
    }
  }
  for (const byte of bytes) {
    if (byte !== 0) break
    text = DIGITS[0] + text
  }
  if (kept) texts.set(kept, text)
  return text
}

/** The bytes of an address. */
export function fromBase58(text) {
  const known = keys.get(text)
  if (known) return known
  let number = 0n
  for (const digit of text) number = number * 58n + BigInt(DIGITS.indexOf(digit))
  const bytes = Buffer.from(number.toString(16).padStart(64, '0'), 'hex')
  if (bytes.length !== 32) throw new Error(`${text} is no address`)
  keys.set(text, bytes)
  return bytes
}

export function parse(bytes) {
  let place = 0
  const take = (length) => bytes.subarray(place, (place += length))
  const length = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[place++]
      value |= (byte & 127) << shift
      if (byte < 128) return value
    }
  }
  const list = (of) => Array.from({ length: length() }, of)
  const signatures = list(() => take(64))
  const version = bytes[place] & 128 ? bytes[place++] & 127 : 'legacy'
  const header = [...take(3)]
  const accounts = list(() => base58(take(32)))
  const blockhash = base58(take(32))
  const instructions = list(() => ({ program: bytes[place++], accounts: take(length()), data: take(length()) }))
  const [signers, readonlySigned, readonlyUnsigned] = header
  const isWritable = (n) => (n < signers ? n < signers - readonlySigned : n < accounts.length - readonlyUnsigned)
  const writable = accounts.filter((_, n) => isWritable(n))
  return { bytes, id: base58(signatures[0]), signatures, version, header, keys: accounts, blockhash, instructions, isWritable, writable }
}
