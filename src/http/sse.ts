import { GatewayError } from './errors.ts'
import { keepChunk } from './keep-chunk.ts'

/** One event of an event stream (WHATWG HTML, "Server-sent events"). */
export interface SseEvent {
  /** `message` if the stream does not name one. */
  readonly event: string
  /** The data lines, joined with line feeds. */
  readonly data: Buffer
  readonly id: string | undefined
}

const LF = 10
const CR = 13
const COLON = 58
const SPACE = 32
const EMPTY = Buffer.alloc(0)

/**
 * Parses an event stream from chunks split anywhere, even within a character or between CR and LF. Buffers at most
 * `limit` bytes of one event; past that `push` throws GatewayError `responseTooLarge`.
 */
export class SseReader {
  readonly #limit: number
  readonly #onEvent: (event: SseEvent) => void
  /** An incomplete line. */
  #partial: Buffer[] = []
  #partialSize = 0
  #data: Buffer[] = []
  #dataSize = 0
  #event = ''
  #id: string | undefined
  #afterCr = false
  #first = true
  /** The reconnection time in ms that the stream asks for. */
  retry: number | undefined

  constructor(limit: number, onEvent: (event: SseEvent) => void) {
    this.#limit = limit
    this.#onEvent = onEvent
  }

  /** The last id seen, even if no event was dispatched for it. */
  get lastId(): string | undefined {
    return this.#id
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return
    let at = 0
    if (this.#afterCr) {
      this.#afterCr = false
      if (chunk[0] === LF) at = 1
    }
    let cr = chunk.indexOf(CR, at)
    while (at < chunk.length) {
      const lf = chunk.indexOf(LF, at)
      if (cr >= 0 && cr < at) cr = chunk.indexOf(CR, at)
      const end = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf
      if (end < 0) break
      this.#line(this.#complete(chunk.subarray(at, end)))
      at = end + 1
      if (end !== cr) continue
      if (at === chunk.length) this.#afterCr = true
      else if (chunk[at] === LF) at++
    }
    if (at < chunk.length) this.#keep(chunk.subarray(at))
  }

  #keep(part: Buffer): void {
    this.#partialSize += part.length
    this.#checkSize()
    keepChunk(this.#partial, part)
  }

  #complete(last: Buffer): Buffer {
    if (this.#partial.length === 0) return last
    this.#partial.push(last)
    const line = Buffer.concat(this.#partial)
    this.#partial = []
    this.#partialSize = 0
    return line
  }

  #line(line: Buffer): void {
    if (this.#first) {
      this.#first = false
      if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3)
    }
    if (line.length === 0) {
      this.#dispatch()
      return
    }
    const colon = line.indexOf(COLON)
    if (colon === 0) return
    const name = line.toString('latin1', 0, colon < 0 ? line.length : colon)
    const value = colon < 0 ? EMPTY : line.subarray(line[colon + 1] === SPACE ? colon + 2 : colon + 1)
    if (name === 'data') {
      this.#dataSize += value.length + 1
      this.#checkSize()
      if (this.#data.length > 0) keepChunk(this.#data, NEWLINE)
      keepChunk(this.#data, value)
    } else if (name === 'event') {
      this.#event = value.toString()
    } else if (name === 'id' && !value.includes(0)) {
      this.#id = value.toString()
    } else if (name === 'retry' && /^\d{1,7}$/.test(value.toString('latin1'))) {
      this.retry = Number(value.toString('latin1'))
    }
  }

  #dispatch(): void {
    const data = this.#data
    const event = this.#event === '' ? 'message' : this.#event
    this.#event = ''
    if (data.length === 0) return
    this.#data = []
    this.#dataSize = 0
    this.#onEvent({ event, data: data.length === 1 ? (data[0] as Buffer) : Buffer.concat(data), id: this.#id })
  }

  #checkSize(): void {
    if (this.#partialSize + this.#dataSize <= this.#limit) return
    throw new GatewayError('responseTooLarge', { detail: `an event of more than ${this.#limit} bytes` })
  }
}

const NEWLINE = Buffer.from('\n')
const DATA = Buffer.from('data: ')
const END = Buffer.from('\n\n')

/** Encodes one event. `data` may span several lines. */
export function encodeSse(event: string, data: Buffer | string): Buffer {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  const head = Buffer.from(`event: ${event}\n`)
  if (!bytes.includes(LF) && !bytes.includes(CR)) return Buffer.concat([head, DATA, bytes, END])
  const lines = bytes.toString().split(/\r\n|\r|\n/)
  return Buffer.from(`event: ${event}\n${lines.map(line => `data: ${line}\n`).join('')}\n`)
}

/** Keeps an idle stream open; readers ignore it. */
export const SSE_COMMENT: Buffer = Buffer.from(':\n\n')
