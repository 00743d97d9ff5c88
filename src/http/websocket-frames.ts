// Frames of RFC 6455, without extensions.
import { randomBytes } from 'node:crypto'

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const KNOWN: ReadonlySet<number> = new Set(Object.values(OPCODES))

/** A fragment of a message as it arrived; large messages arrive in many, so that none is buffered. */
export interface MessagePart {
  readonly opcode: number
  /** The first of its message. */
  readonly first: boolean
  /** The last of its message. */
  readonly last: boolean
  readonly data: Buffer
}

/** Maximum payload bytes of a ping, pong or close (section 5.5). */
const MAX_CONTROL = 125

/** Parses frames (section 5.2) of any size. Throws an Error on a protocol violation. */
export class FrameReader {
  readonly #masked: boolean
  #mask: Buffer | undefined
  /** Position in the mask of the next byte. */
  #at = 0
  #held: Buffer = Buffer.alloc(0)
  /** Bytes of the current frame still to come. */
  #left = 0
  #opcode: number = OPCODES.binary
  #final = true
  /** The current message's opcode, if one is open. */
  #message: number | undefined
  #first = true

  /** `masked`: reads frames sent by a client. */
  constructor({ masked = false } = {}) {
    this.#masked = masked
  }

  /** The message parts contained in these bytes. */
  read(chunk: Buffer): readonly MessagePart[] {
    const parts: MessagePart[] = []
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    for (;;) {
      if (this.#left === 0) {
        const size = this.#head(rest)
        if (size === 0) break
        rest = rest.subarray(size)
      }
      const control = this.#opcode >= OPCODES.close
      if (rest.length < (control ? this.#left : Math.min(this.#left, 1))) break
      const data = this.#plain(rest.subarray(0, this.#left))
      rest = rest.subarray(data.length)
      this.#left -= data.length
      parts.push(control ? { opcode: this.#opcode, first: true, last: true, data } : this.#part(data))
    }
    this.#held = rest
    return parts
  }

  /** Parses a frame head and returns its length, or 0 if it is incomplete. */
  #head(bytes: Buffer): number {
    if (bytes.length < 2) return 0
    const [start, second] = [bytes[0]!, bytes[1]!]
    if (((second & 0x80) !== 0) !== this.#masked) {
      throw new Error(this.#masked ? 'client frames must be masked' : 'server frames must not be masked')
    }
    const short = second & 0x7f
    const prefix = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0)
    const size = this.#masked ? prefix + 4 : prefix
    if (bytes.length < size) return 0
    if ((start & 0x70) !== 0) throw new Error('it uses an extension that was not negotiated')
    this.#mask = this.#masked ? bytes.subarray(prefix, size) : undefined
    this.#at = 0
    const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short
    if (length > Number.MAX_SAFE_INTEGER) throw new Error('invalid frame length')
    this.#opcode = start & 0x0f
    if (!KNOWN.has(this.#opcode)) throw new Error(`it sends frames with an unknown opcode (${this.#opcode})`)
    this.#final = (start & 0x80) !== 0
    if (this.#opcode >= OPCODES.close) {
      if (length > MAX_CONTROL || !this.#final) throw new Error('control frame is too long or fragmented')
    } else if ((this.#opcode === OPCODES.continuation) !== (this.#message !== undefined)) {
      throw new Error('fragments of different messages are interleaved')
    } else if (this.#opcode !== OPCODES.continuation) {
      this.#message = this.#opcode
      this.#first = true
    }
    this.#left = length
    return size
  }

  #plain(data: Buffer): Buffer {
    const mask = this.#mask
    if (mask === undefined) return data
    const plain = Buffer.allocUnsafe(data.length)
    for (let i = 0; i < data.length; i++) plain[i] = data[i]! ^ mask[this.#at++ & 3]!
    return plain
  }

  #part(data: Buffer): MessagePart {
    const part = {
      opcode: this.#message ?? OPCODES.binary,
      first: this.#first,
      last: this.#final && this.#left === 0,
      data,
    }
    if (data.length > 0) this.#first = false
    if (part.last) this.#message = undefined
    return part
  }
}

/** A frame holding a whole message; `masked` if sent by a client (section 5.3). */
export function frameOf(opcode: number, masked: boolean, ...parts: readonly Uint8Array[]): Buffer {
  const payload = Buffer.concat(parts)
  const { length } = payload
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const head = Buffer.alloc(2 + extra)
  head[0] = 0x80 | opcode
  head[1] = (masked ? 0x80 : 0) | (extra === 0 ? length : extra === 2 ? 126 : 127)
  if (extra === 2) head.writeUInt16BE(length, 2)
  if (extra === 8) head.writeBigUInt64BE(BigInt(length), 2)
  if (!masked) return Buffer.concat([head, payload])
  const mask = randomBytes(4)
  for (let i = 0; i < length; i++) payload[i] = payload[i]! ^ mask[i & 3]!
  return Buffer.concat([head, mask, payload])
}
