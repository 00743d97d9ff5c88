// The length-prefixed messages of gRPC (grpc/doc/PROTOCOL-HTTP2.md, "Length-Prefixed-Message"), uncompressed.

import { keepChunk } from '../http/keep-chunk.ts'

const PREFIX = 5

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(message.length + PREFIX)
  framed[0] = 0
  framed.writeUInt32BE(message.length, 1)
  framed.set(message, PREFIX)
  return framed
}

/** What is wrong with a frame, and the gRPC status for it. */
export interface BadFrame {
  readonly problem: string
  readonly status: number
}

/** Splits a body into messages as it arrives. */
export class FrameReader {
  readonly #limit: number
  #chunks: Buffer[] = []
  #size = 0

  /** `limit`: maximum bytes of one message. */
  constructor(limit: number) {
    this.#limit = limit
  }

  push(chunk: Buffer): void {
    keepChunk(this.#chunks, chunk)
    this.#size += chunk.length
  }

  /** True while a message is incomplete. */
  get partial(): boolean {
    return this.#size > 0
  }

  /** Undefined until the next message is complete. */
  next(): Buffer | BadFrame | undefined {
    if (this.#size < PREFIX) return undefined
    const prefix = this.#peek(PREFIX)
    if (prefix[0] !== 0) return { problem: 'a compressed message, which was not negotiated', status: INTERNAL }
    const length = prefix.readUInt32BE(1)
    if (length > this.#limit) return { problem: `a message of ${length} bytes`, status: RESOURCE_EXHAUSTED }
    if (this.#size < PREFIX + length) return undefined
    const whole = this.#peek(PREFIX + length)
    const rest = (this.#chunks[0] as Buffer).subarray(PREFIX + length)
    if (rest.length > 0) this.#chunks[0] = rest
    else this.#chunks.shift()
    this.#size -= PREFIX + length
    return whole.subarray(PREFIX)
  }

  /** The first `length` bytes, made contiguous at the front. */
  #peek(length: number): Buffer {
    let first = this.#chunks[0] as Buffer
    if (first.length < length) {
      let count = 0
      for (let size = 0; size < length; count++) size += (this.#chunks[count] as Buffer).length
      first = Buffer.concat(this.#chunks.splice(0, count))
      this.#chunks.unshift(first)
    }
    return first.subarray(0, length)
  }
}

const RESOURCE_EXHAUSTED = 8
const INTERNAL = 13
