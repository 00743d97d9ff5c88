import { BrokenConnection, COMPRESSION_ERROR } from './frames.ts'
import { FIELD_OVERHEAD, STATIC, TABLE_SIZE } from './hpack-static.ts'
import type { Huffman } from './huffman.ts'

/** The maximum number of entries in the table, as a power of two. */
const PLACES = 128

/** Decodes header blocks of a server (RFC 7541). Throws BrokenConnection for a malformed block, as the table is lost then. */
export class HpackDecoder {
  /** Maximum size of a field list, counted as in section 4.1. */
  readonly #limit: number
  readonly #huffman: Huffman
  /** The dynamic table, as a ring buffer. */
  readonly #names: string[] = Array(PLACES).fill('')
  readonly #values: string[] = Array(PLACES).fill('')
  #added = 0
  #count = 0
  #size = 0
  #most = TABLE_SIZE
  #bytes: Buffer = EMPTY
  #at = 0
  #end = 0
  #scratch = Buffer.allocUnsafeSlow(1024)

  constructor(limit: number, huffman: Huffman) {
    this.#limit = limit
    this.#huffman = huffman
  }

  /** Name, value, name, value; undefined if the list exceeds the limit. The table is updated either way. */
  decode(bytes: Buffer, from: number, to: number): string[] | undefined {
    this.#bytes = bytes
    this.#at = from
    this.#end = to
    const fields: string[] = []
    let size = 0
    while (this.#at < to) {
      const byte = bytes[this.#at] as number
      let name: string
      let value: string
      if (byte >= 0x80) {
        const index = this.#number(0x7f)
        name = this.#nameAt(index)
        value = this.#valueAt(index)
      } else if (byte >= 0x20 && byte < 0x40) {
        if (fields.length > 0) throw broken('a table size update after a field')
        this.#resize(this.#number(0x1f))
        continue
      } else {
        const index = this.#number(byte >= 0x40 ? 0x3f : 0x0f)
        name = index === 0 ? this.#text() : this.#nameAt(index)
        value = this.#text()
        if (byte >= 0x40) this.#add(name, value)
      }
      size += name.length + value.length + FIELD_OVERHEAD
      if (size <= this.#limit) fields.push(name, value)
    }
    this.#bytes = EMPTY
    return size <= this.#limit ? fields : undefined
  }

  #nameAt(index: number): string {
    const known = STATIC[index - 1]
    return known === undefined ? (this.#names[this.#place(index)] as string) : known[0]
  }

  #valueAt(index: number): string {
    const known = STATIC[index - 1]
    return known === undefined ? (this.#values[this.#place(index)] as string) : known[1]
  }

  #place(index: number): number {
    const back = index - STATIC.length
    if (back < 1 || back > this.#count) throw broken('an index beyond the table')
    return (this.#added - back) & (PLACES - 1)
  }

  #add(name: string, value: string): void {
    const size = name.length + value.length + FIELD_OVERHEAD
    this.#evict(this.#most - size)
    if (size > this.#most) return
    const place = this.#added++ & (PLACES - 1)
    this.#names[place] = name
    this.#values[place] = value
    this.#count++
    this.#size += size
  }

  #resize(most: number): void {
    if (most > TABLE_SIZE) throw broken('a table above the allowed size')
    this.#most = most
    this.#evict(most)
  }

  /** Evicts the oldest entries until at most `size` bytes remain. */
  #evict(size: number): void {
    while (this.#count > 0 && this.#size > size) {
      const place = (this.#added - this.#count) & (PLACES - 1)
      this.#size -= (this.#names[place] as string).length + (this.#values[place] as string).length + FIELD_OVERHEAD
      this.#names[place] = this.#values[place] = ''
      this.#count--
    }
  }

  /** Section 5.1. */
  #number(mask: number): number {
    let value = this.#byte() & mask
    if (value < mask) return value
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#byte()
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw broken('an integer that is too large')
  }

  #byte(): number {
    if (this.#at >= this.#end) throw broken('a truncated field')
    return this.#bytes[this.#at++] as number
  }

  /** Section 5.2. */
  #text(): string {
    const packed = this.#at < this.#end && (this.#bytes[this.#at] as number) >= 0x80
    const length = this.#number(0x7f)
    const from = this.#at
    const to = from + length
    if (to > this.#end) throw broken('a truncated field')
    this.#at = to
    if (!packed) return this.#bytes.toString('latin1', from, to)
    const most = Math.ceil((length * 8) / 5)
    const out = most <= this.#scratch.length ? this.#scratch : Buffer.allocUnsafe(most)
    const size = this.#huffman.decode(this.#bytes, from, to, out)
    if (size < 0) throw broken('an invalid Huffman code')
    return out.toString('latin1', 0, size)
  }
}

const EMPTY = Buffer.alloc(0)

function broken(what: string): BrokenConnection {
  return new BrokenConnection(COMPRESSION_ERROR, `a header block with ${what}`)
}
