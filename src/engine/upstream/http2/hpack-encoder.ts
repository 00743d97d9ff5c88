import { isCredentialHeader } from '../../../http/credential-names.ts'
import { FIELD_OVERHEAD, STATIC, TABLE_SIZE } from './hpack-static.ts'

/**
 * Fields that are indexed once a value repeats. Others are not: a client must not be able to guess the values of another
 * client from the length of the encoded block (RFC 7541 section 7.1).
 */
const REPEATED: ReadonlySet<string> = new Set([
  ...[':authority', ':path', 'accept', 'accept-encoding', 'accept-language', 'content-type', 'user-agent', 'te'],
  ...['grpc-timeout', 'grpc-encoding', 'grpc-accept-encoding', 'content-length', 'x-forwarded-proto', 'via'],
])
/** Limits of the values and names that are remembered. */
const LONGEST = 256
const MAX_NAMES = 200

/** What is known about a field name. */
interface Known {
  /** Index of the name in the static table, or 0. */
  readonly index: number
  /** Static indices of complete fields, by value. */
  readonly values: ReadonlyMap<string, number>
  readonly secret: boolean
  readonly repeated: boolean
  last: string | undefined
  /** The sequence number of the dynamic entry that holds `added`, or 0. */
  entry: number
  added: string
}

/** Encodes header blocks (RFC 7541). Strings are not Huffman-coded: the processor time costs more than the bytes. */
export class HpackEncoder {
  readonly #names = new Map<string, Known>()
  /** Sizes of the dynamic entries, oldest first. */
  readonly #sizes: number[] = []
  #added = 0
  #size = 0
  #most = TABLE_SIZE
  /** The smallest table size set since the last block; undefined if unchanged. */
  #lowest: number | undefined
  #bytes = Buffer.allocUnsafeSlow(1024)
  #at = 0

  /** Sets the maximum size of the server's table. */
  resize(most: number): void {
    const size = Math.min(most, TABLE_SIZE)
    if (size === this.#most && this.#lowest === undefined) return
    this.#lowest = Math.min(this.#lowest ?? size, size)
    this.#most = size
    this.#evict(size)
  }

  /** Encodes `fields` (name, value, name, value, with names in lower case). The result is valid until the next call. */
  encode(fields: readonly string[]): Buffer {
    this.#at = 0
    if (this.#lowest !== undefined) {
      this.#room(16)
      if (this.#lowest < this.#most) this.#number(0x20, 0x1f, this.#lowest)
      this.#number(0x20, 0x1f, this.#most)
      this.#lowest = undefined
    }
    for (let i = 0; i < fields.length; i += 2) this.#field(fields[i] as string, fields[i + 1] as string)
    return this.#bytes.subarray(0, this.#at)
  }

  #field(name: string, value: string): void {
    const known = this.#names.get(name) ?? this.#learn(name)
    this.#room(name.length + value.length + 16)
    const ready = known.values.get(value)
    if (ready !== undefined) this.#number(0x80, 0x7f, ready)
    else if (known.entry > this.#added - this.#sizes.length && known.added === value) {
      this.#number(0x80, 0x7f, STATIC.length + 1 + this.#added - known.entry)
    } else if (known.repeated && known.last === value && this.#fits(name, value)) {
      this.#literal(0x40, 0x3f, known.index, name, value)
      known.entry = this.#added
      known.added = value
    } else {
      // Queries may contain secrets.
      if (known.repeated && value.length <= LONGEST && !value.includes('?')) known.last = value
      this.#literal(known.secret ? 0x10 : 0, 0x0f, known.index, name, value)
    }
  }

  #literal(pattern: number, mask: number, index: number, name: string, value: string): void {
    this.#number(pattern, mask, index)
    if (index === 0) this.#text(name)
    this.#text(value)
  }

  /** Adds an entry to the table unless it is too large. */
  #fits(name: string, value: string): boolean {
    const size = name.length + value.length + FIELD_OVERHEAD
    if (size > this.#most) return false
    this.#evict(this.#most - size)
    this.#sizes.push(size)
    this.#size += size
    this.#added++
    return true
  }

  #evict(size: number): void {
    while (this.#size > size) this.#size -= this.#sizes.shift() as number
  }

  #learn(name: string): Known {
    const values = new Map<string, number>()
    let index = 0
    STATIC.forEach(([other, value], i) => {
      if (other !== name) return
      index ||= i + 1
      if (value !== '') values.set(value, i + 1)
    })
    const secret = isCredentialHeader(name)
    const known = { index, values, secret, repeated: REPEATED.has(name), last: undefined, entry: 0, added: '' }
    // Clients may invent names.
    if (this.#names.size < MAX_NAMES || known.repeated || index > 0) this.#names.set(name, known)
    return known
  }

  #number(pattern: number, mask: number, value: number): void {
    const bytes = this.#bytes
    if (value < mask) {
      bytes[this.#at++] = pattern | value
      return
    }
    bytes[this.#at++] = pattern | mask
    let left = value - mask
    for (; left >= 0x80; left >>>= 7) bytes[this.#at++] = (left & 0x7f) | 0x80
    bytes[this.#at++] = left
  }

  /** A string in Latin-1. */
  #text(text: string): void {
    const { length } = text
    this.#number(0, 0x7f, length)
    if (length > 24) this.#at += this.#bytes.write(text, this.#at, 'latin1')
    else for (let i = 0; i < length; i++) this.#bytes[this.#at++] = text.charCodeAt(i)
  }

  #room(size: number): void {
    if (this.#bytes.length - this.#at >= size) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + size))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}
