import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** The client's side of RFC 6455, as far as Kubernetes uses it: binary messages, no extensions. */
export interface Handshake {
  readonly headers: Readonly<Record<string, string>>
  readonly protocol: string
  /** What a server that understood it answers (section 4.2.2). */
  readonly accept: string
}

export function handshake(protocol: string): Handshake {
  const key = randomBytes(16).toString('base64')
  return {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
      'sec-websocket-protocol': protocol,
    },
    protocol,
    accept: createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64'),
  }
}

/** What is wrong with the answer to a handshake; undefined when it is right. */
export function proves(reply: IncomingHttpHeaders, { accept, protocol }: Handshake): string | undefined {
  if (reply.upgrade?.toLowerCase() !== 'websocket' || reply['sec-websocket-accept'] !== accept) {
    return 'its answer to a WebSocket handshake is none'
  }
  const given = reply['sec-websocket-protocol'] ?? 'none'
  return given === protocol ? undefined : `it speaks the subprotocol ${given}, not ${protocol}`
}

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const KNOWN: ReadonlySet<number> = new Set(Object.values(OPCODES))

/** A piece of a message as it came: large ones come in many, so that nothing has to be kept. */
export interface MessagePart {
  readonly opcode: number
  /** The first of its message. */
  readonly first: boolean
  /** The last of its message. */
  readonly last: boolean
  readonly data: Buffer
}

/** bytes of a ping, a pong or a close (section 5.5). */
const MAX_CONTROL = 125

/** Takes frames apart (section 5.2), whatever their size. Throws an Error when they break the protocol. */
export class FrameReader {
  #held: Buffer = Buffer.alloc(0)
  /** Bytes of the frame at hand that have yet to come. */
  #left = 0
  #opcode: number = OPCODES.binary
  #final = true
  /** The message at hand: its opcode, or none. */
  #message: number | undefined
  #first = true

  /** What has come of messages with these bytes. */
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
      const data = rest.subarray(0, this.#left)
      rest = rest.subarray(data.length)
      this.#left -= data.length
      parts.push(control ? { opcode: this.#opcode, first: true, last: true, data } : this.#part(data))
    }
    this.#held = rest
    return parts
  }

  /** Reads the head of a frame; its length, or 0 when it is not complete. */
  #head(bytes: Buffer): number {
    if (bytes.length < 2) return 0
    const [start, second] = [bytes[0]!, bytes[1]!]
    const short = second & 0x7f
    const size = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0)
    if (bytes.length < size) return 0
    if ((start & 0x70) !== 0) throw new Error('it uses an extension that was not agreed on')
    if ((second & 0x80) !== 0) throw new Error('its frames are masked, which only those of a client are')
    const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short
    if (length > Number.MAX_SAFE_INTEGER) throw new Error('it announces a frame of impossible length')
    this.#opcode = start & 0x0f
    if (!KNOWN.has(this.#opcode)) throw new Error(`it sends frames of a kind that nobody knows (${this.#opcode})`)
    this.#final = (start & 0x80) !== 0
    if (this.#opcode >= OPCODES.close) {
      if (length > MAX_CONTROL || !this.#final) throw new Error('its control frame is too long or in pieces')
    } else if ((this.#opcode === OPCODES.continuation) !== (this.#message !== undefined)) {
      throw new Error('its messages are mixed up')
    } else if (this.#opcode !== OPCODES.continuation) {
      this.#message = this.#opcode
      this.#first = true
    }
    this.#left = length
    return size
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

/** One frame that is a whole message, masked as those of a client are (section 5.3). */
export function clientFrame(opcode: number, ...parts: readonly Uint8Array[]): Buffer {
  const payload = Buffer.concat(parts)
  const { length } = payload
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const head = Buffer.alloc(2 + extra)
  head[0] = 0x80 | opcode
  head[1] = 0x80 | (extra === 0 ? length : extra === 2 ? 126 : 127)
  if (extra === 2) head.writeUInt16BE(length, 2)
  if (extra === 8) head.writeBigUInt64BE(BigInt(length), 2)
  const mask = randomBytes(4)
  for (let i = 0; i < length; i++) payload[i] = payload[i]! ^ mask[i & 3]!
  return Buffer.concat([head, mask, payload])
}
