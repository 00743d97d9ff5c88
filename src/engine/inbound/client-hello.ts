import type { Look } from './prelude.ts'

export interface ClientHello {
  /** In lower case, without the final dot; undefined if the client sends none. */
  readonly serverName: string | undefined
}

/** bytes; browsers send less than 2000. */
const MAX_HELLO = 64 * 1024
const HANDSHAKE = 0x16
const CLIENT_HELLO = 1
const SERVER_NAME = 0

/**
 * Parses the first message of a TLS connection (RFC 8446 section 4.1.2) without consuming it; null if it is something
 * else.
 */
export function readClientHello(bytes: Buffer): Look<ClientHello | null> {
  const message = handshakeBytes(bytes)
  if (message === undefined) return NONE
  if (message.length < 4) return 'more'
  if (message[0] !== CLIENT_HELLO) return NONE
  const length = message.readUIntBE(1, 3)
  if (length > MAX_HELLO) return NONE
  // Small records have headers too, so each further look finds part of what is missing.
  if (message.length < 4 + length) return { needs: bytes.length + 4 + length - message.length }
  const serverName = serverNameOf(new Reader(message.subarray(4, 4 + length)))
  return serverName === null ? NONE : { value: { serverName }, consumed: 0 }
}

const NONE = { value: null, consumed: 0 } as const

/** In lower case, without the final dot; null if it is not a host name. */
export function plainServerName(name: string): string | null {
  const plain = name.toLowerCase().replace(/\.$/, '')
  return /^[\w.-]+$/.test(plain) ? plain : null
}

/** The content of the handshake records so far: a message may span several. Undefined if there are none. */
function handshakeBytes(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== HANDSHAKE || (at + 1 < bytes.length && bytes[at + 1] !== 3)) return undefined
    if (at + 5 > bytes.length) break
    const length = bytes.readUInt16BE(at + 3)
    if (length === 0 || length > 16_640) return undefined
    parts.push(bytes.subarray(at + 5, at + 5 + length))
    at += 5 + length
  }
  return parts.length === 1 ? parts[0] : Buffer.concat(parts)
}

/** Null if the message is malformed. */
function serverNameOf(hello: Reader): string | undefined | null {
  hello.skip(2 + 32)
  hello.vector(1)
  hello.vector(2)
  hello.vector(1)
  if (hello.broken) return null
  if (hello.left === 0) return undefined
  const extensions = hello.vector(2)
  while (extensions.left > 0 && !extensions.broken) {
    const type = extensions.number(2)
    const content = extensions.vector(2)
    if (type !== SERVER_NAME) continue
    const names = content.vector(2)
    const kind = names.number(1)
    const name = names.vector(2)
    if (names.broken || kind !== 0) return null
    return plainServerName(name.rest().toString('latin1'))
  }
  return hello.broken || extensions.broken ? null : undefined
}

/** Reads numbers and length-prefixed parts; past the end everything is empty and `broken` is set. */
class Reader {
  readonly #bytes: Buffer
  #at = 0
  broken = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }
  get left(): number {
    return this.#bytes.length - this.#at
  }
  skip(count: number): void {
    if (count > this.left) this.broken = true
    this.#at = Math.min(this.#bytes.length, this.#at + count)
  }
  number(size: number): number {
    if (size > this.left) {
      this.skip(size)
      return 0
    }
    const value = this.#bytes.readUIntBE(this.#at, size)
    this.#at += size
    return value
  }
  vector(prefix: number): Reader {
    const length = this.number(prefix)
    const from = this.#at
    this.skip(length)
    const part = new Reader(this.#bytes.subarray(from, this.#at))
    part.broken = this.broken
    return part
  }
  rest(): Buffer {
    return this.#bytes.subarray(this.#at)
  }
}
