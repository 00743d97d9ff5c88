import { ChunkFraming, DATA, TRAILERS } from '../chunk-framing.ts'
import { consistsOf, TEXT, TOKEN } from '../http1-syntax.ts'
import { fieldKind } from '../upstream/hop-by-hop.ts'
import { MalformedRequest } from './http1-head.ts'

const CR = 13
const LF = 10
/** Chunks of at least this many bytes are not copied. */
const JOINED = 4096
const MAX_TRAILERS = 16 * 1024

/** Reads a chunked request body (RFC 9112 section 7.1), strictly. Its trailers are validated and kept separate. */
export class ChunkReader {
  readonly #framing = new ChunkFraming(malformed)
  #line = ''
  #afterCr = false
  #trailerBytes = 0
  /** Name, value, name, value. */
  readonly trailers: string[] = []
  done = false

  /**
   * Passes the data from `from` on to `take`; returns where the message ends, or `bytes.length`. Throws
   * MalformedRequest. Small chunks that arrived in one read are joined.
   */
  read(bytes: Buffer, from: number, take: (data: Buffer) => void): number {
    const framing = this.#framing
    let at = from
    let start = from
    let filled = from
    while (at < bytes.length && !this.done) {
      if (framing.state === DATA) {
        const size = Math.min(framing.left, bytes.length - at)
        if (filled > start && size > JOINED) {
          take(bytes.subarray(start, filled))
          filled = start
        }
        if (filled === start) start = filled = at
        else bytes.copyWithin(filled, at, at + size)
        filled += size
        at += size
        framing.took(size)
      } else if (framing.state === TRAILERS) this.#trailer(bytes[at++] as number)
      else framing.next(bytes[at++] as number)
    }
    if (filled > start) take(bytes.subarray(start, filled))
    return at
  }

  #trailer(byte: number): void {
    if (++this.#trailerBytes > MAX_TRAILERS) throw new MalformedRequest('trailers')
    if (this.#afterCr !== (byte === LF)) throw new MalformedRequest('trailers')
    if (byte === CR) this.#afterCr = true
    else if (byte !== LF) this.#line += String.fromCharCode(byte)
    else {
      if (this.#line === '') this.done = true
      else this.trailers.push(...trailerIn(this.#line))
      this.#afterCr = false
      this.#line = ''
    }
  }
}

function malformed(rule: string): MalformedRequest {
  return new MalformedRequest(rule)
}

function trailerIn(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(0, colon))
  const value = line.slice(colon + 1)
  const kind = fieldKind(name)
  const plain = consistsOf(name, TOKEN) && (value === '' || consistsOf(value, TEXT))
  if (!plain || kind === 'content-length' || kind === 'transfer-encoding') throw new MalformedRequest('trailers')
  return [name, value.trim()]
}
