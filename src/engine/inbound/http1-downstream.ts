import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Exchange } from '../../http/exchange.ts'
import { equalsIgnoreCase } from '../../http/ignore-case.ts'
import type { ChunkSink } from '../../http/transport.ts'
import { fieldKind } from '../upstream/hop-by-hop.ts'
import { joinStreams } from './join-streams.ts'
import type { OpenDownstream } from './serve-exchange.ts'

/** The connection that carries a reply. */
export interface ReplyWire {
  readonly socket: Socket
  /** Called when a head is sent: whether to announce `connection: close`. */
  closes(): boolean
  /** The connection ends with this reply. */
  closeAfterwards(): void
  /** The value of a `date` field. */
  date(): string
  /** The whole reply has been handed to the operating system. */
  replied(): void
  /** The socket's new owner reads and writes it from here on. */
  release(): void
}

/** Up to this many bytes are joined as text and sent in one write. */
const ONE_WRITE = 12 * 1024
/** At this many bytes a write no longer waits for the end of the turn. */
const AT_ONCE = 32 * 1024

const NONE = 0
const LENGTH = 1
const CHUNKS = 2
const UNTIL_CLOSE = 3

/** The client side of one exchange over HTTP/1.1. Whatever is written in one turn is sent as one piece. */
export class Http1Downstream implements OpenDownstream, ChunkSink {
  state: OpenDownstream['state'] = 'waiting'
  readonly #wire: ReplyWire
  readonly exchange: Exchange
  readonly #minor: 0 | 1
  #framing: typeof NONE | typeof LENGTH | typeof CHUNKS | typeof UNTIL_CLOSE = NONE
  /** Remaining bytes of the body, if a length was announced. */
  #left = 0
  /** Written but not sent yet; one byte per character. */
  #text = ''
  #scheduled = false
  #corked = false
  #onDrain: (() => void) | undefined

  constructor(wire: ReplyWire, x: Exchange, minor: 0 | 1) {
    this.#wire = wire
    this.exchange = x
    this.#minor = minor
  }

  reply(status: number, headers: readonly string[], body: Buffer | string | undefined): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const length = bytes?.length ?? 0
    this.#head(status, headers, length)
    this.state = 'streaming'
    if (bytes && length > 0) this.write(bytes)
    this.end()
  }

  /** Throws if a field cannot be serialized without changing its meaning. */
  start(status: number, headers: readonly string[]): ChunkSink {
    this.#head(status, headers, undefined)
    this.state = 'streaming'
    // The first body bytes may be sent with the head, but a stream's head does not wait for its first event.
    this.#schedule()
    return this
  }

  write(chunk: Buffer, release?: () => void): boolean {
    if (this.state === 'ended') return true
    const size = chunk.length
    if (this.#framing === NONE || size === 0) return true
    const { socket } = this.#wire
    this.exchange.responseBytes += size
    if (this.#framing === LENGTH) {
      this.#left -= size
      if (this.#left < 0) {
        this.fail(new Error('response body longer than its content-length'))
        return true
      }
    }
    const chunked = this.#framing === CHUNKS
    if (size <= ONE_WRITE) {
      const text = chunk.toString('latin1')
      this.#text += chunked ? `${size.toString(16)}\r\n${text}\r\n` : text
      release?.()
      if (this.#text.length > ONE_WRITE) this.#flush()
      else this.#schedule()
      return !socket.writableNeedDrain
    }
    if (!this.#corked) {
      this.#corked = true
      socket.cork()
    }
    if (chunked) this.#text += `${size.toString(16)}\r\n`
    this.#flush()
    if (release === undefined) socket.write(chunk)
    else {
      socket.write(chunk, error => {
        if (!error) release()
      })
    }
    if (chunked) this.#text = '\r\n'
    if (size >= AT_ONCE) {
      this.#corked = false
      socket.uncork()
    }
    if (this.#corked || chunked) this.#schedule()
    // No back-pressure for what the system accepted at once.
    return socket.writableLength < socket.writableHighWaterMark
  }

  end(trailers?: readonly string[]): void {
    if (this.state === 'ended') return
    if (this.#framing === LENGTH && this.#left > 0) {
      this.fail(new Error('response body shorter than its content-length'))
      return
    }
    if (this.#framing === CHUNKS) this.#text += `0\r\n${this.#trailers(trailers)}\r\n`
    this.state = 'ended'
    const { socket } = this.#wire
    // TLS accepts data asynchronously: checking right away would be pointless.
    const told = this.#text !== '' && socket instanceof TLSSocket
    this.send(told ? () => this.#wire.replied() : undefined)
    if (told || socket.destroyed) return
    if (socket.writableLength === 0) this.#wire.replied()
    else socket.write('', () => this.#wire.replied())
  }

  fail(error: Error): void {
    this.exchange.error ??= error.message
    this.cut()
  }

  onDrain(then: () => void): void {
    this.#onDrain = then
  }

  /** The socket has drained. */
  drained(): void {
    this.#onDrain?.()
  }

  upgrade(status: number, headers: readonly string[], upstream: Duplex): void {
    this.state = 'ended'
    const { socket } = this.#wire
    if (socket.destroyed) {
      upstream.destroy()
      return
    }
    this.#wire.release()
    let head =
      this.exchange.upgrade === undefined
        ? `HTTP/1.1 ${status} Connection established\r\n`
        : `HTTP/1.1 ${status} Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${this.exchange.upgrade}\r\n`
    for (let i = 0; i < headers.length; i += 2) {
      if (!/^(connection|upgrade)$/i.test(headers[i]!)) head += fieldLine(headers[i]!, headers[i + 1]!)
    }
    socket.write(`${head}\r\n`, 'latin1')
    joinStreams(socket, upstream)
  }

  cut(): void {
    this.state = 'ended'
    this.send()
    this.#wire.socket.destroy()
  }

  /** `length`: of the whole body, if known and not set by a field. */
  #head(status: number, headers: readonly string[], length: number | undefined): void {
    const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}`]
    let announced = -1
    let dated = false
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]!
      const value = headers[i + 1]!
      switch (fieldKind(name)) {
        case 'content-length':
          announced = lengthOf(value, announced)
          break
        case 'connection':
          if (value.toLowerCase() === 'close') this.#wire.closeAfterwards()
          continue
        case 'hop':
        case 'transfer-encoding':
          continue
        default:
          if (equalsIgnoreCase(name, 'date')) dated = true
      }
      lines.push(`${name}: ${value}`)
    }
    if (!dated) lines.push(`date: ${this.#wire.date()}`)
    const bare = status === 204 || status === 304 || status < 200
    if (announced < 0 && length !== undefined && !bare) {
      announced = length
      lines.push(`content-length: ${length}`)
    }
    if (bare || this.exchange.received.method === 'HEAD') this.#framing = NONE
    else if (announced >= 0) {
      this.#framing = LENGTH
      this.#left = announced
    } else if (this.#minor === 1) {
      this.#framing = CHUNKS
      lines.push('transfer-encoding: chunked')
    } else {
      this.#framing = UNTIL_CLOSE
      this.#wire.closeAfterwards()
    }
    if (this.#wire.closes()) lines.push('connection: close')
    else if (this.#minor === 0) lines.push('connection: keep-alive')
    lines.push('\r\n')
    this.#text = checked(lines.join('\r\n'), lines.length)
  }

  #trailers(trailers: readonly string[] | undefined): string {
    if (trailers === undefined || trailers.length === 0) return ''
    if (this.exchange.response) this.exchange.response.trailers = trailers
    let text = ''
    for (let i = 0; i < trailers.length; i += 2) text += fieldLine(trailers[i]!, trailers[i + 1]!)
    return text
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    process.nextTick(sendLater, this)
  }

  later(): void {
    this.#scheduled = false
    this.send()
  }

  /** Sends what was written in this turn. */
  send(then?: () => void): void {
    this.#flush(then)
    if (!this.#corked) return
    this.#corked = false
    this.#wire.socket.uncork()
  }

  #flush(then?: () => void): void {
    const text = this.#text
    if (text === '') return
    this.#text = ''
    this.#wire.socket.write(text, 'latin1', then)
  }
}

function sendLater(out: Http1Downstream): void {
  out.later()
}

/** A line break in a field would split it. Checking the whole head costs less than checking each field. */
function checked(text: string, lines: number): string {
  if (LINES.test(text) && linesIn(text) === lines) return text
  throw new Error('a field of the response cannot be written')
}

/** Rejects control characters and those beyond one byte. */
const LINES = /^(?:[\t\x20-\x7e\x80-\xff]*\r\n)*$/

function linesIn(text: string): number {
  let found = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) found++
  return found
}

function fieldLine(name: string, value: string): string {
  return checked(`${name}: ${value}\r\n`, 1)
}

function lengthOf(value: string, before: number): number {
  const length = /^\d{1,15}$/.test(value) ? Number(value) : -1
  if (length < 0 || (before >= 0 && before !== length)) throw new Error('invalid content-length in a response')
  return length
}
