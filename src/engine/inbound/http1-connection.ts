import type { Socket } from 'node:net'
import { GatewayError } from '../../http/errors.ts'
import { IncomingBody } from '../../http/incoming-body.ts'
import { SocketBody } from '../../http/socket-body.ts'
import { Timed } from '../upstream/deadlines.ts'
import { ChunkReader } from './chunk-reader.ts'
import type { Connection } from './connection.ts'
import { Http1Downstream, type ReplyWire } from './http1-downstream.ts'
import { type Http1Head, MalformedRequest, readHttp1Head } from './http1-head.ts'
import type { Http1Server } from './http1-server.ts'
import { markRefused, recordRefusedHead, refusalReply } from './refused-head.ts'
import { exchangeFor, serveExchange } from './serve-exchange.ts'

/** Maximum bytes of a head. */
const HEAD_LIMIT = 64 * 1024
/** Empty lines allowed before a request: some clients send one after a body. */
const EMPTY_LINES = 8
/** ms from the first byte of a request to the end of its head. */
const HEAD_TIMEOUT = 30_000
/** Bytes of a request body that are read after the reply so that the connection can be reused. */
const DRAIN_LIMIT = 256 * 1024
/** Bytes discarded after the last reply, so that no reset destroys it before the client has read it. */
const LINGER_LIMIT = 64 * 1024 * 1024
/** Deadline in ms for either. */
const DRAIN_TIMEOUT = 10_000
/** Bytes that a client may pipeline while a reply is in flight. */
const AHEAD_LIMIT = 64 * 1024

const CR = 13
const LF = 10
const END = Buffer.from('\r\n\r\n')
const EMPTY = Buffer.alloc(0)

/** One HTTP/1.1 client connection; its requests are served one after the other. */
export class Http1Connection extends Timed implements ReplyWire {
  readonly socket: Socket
  readonly #server: Http1Server
  readonly #connection: Connection
  /** Pending bytes: an incomplete head, or pipelined requests. Only the first `#size` are valid. */
  #held: Buffer = EMPTY
  #size = 0
  /** How many of them have been searched for the end of a head. */
  #searched = 0
  #processing = false
  #paused = false
  /** The reply in flight. */
  #out: Http1Downstream | undefined
  #serving: { finish(): void } | undefined
  /** A reply that completed before `serveExchange` returned. */
  #over = false
  // The body being read: bytes left or chunk state, and its destination unless it is being discarded.
  #reading = false
  #left = 0
  #chunks: ChunkReader | undefined
  #incoming: IncomingBody | undefined
  #discarded = 0
  /** The client waits for `100 Continue`. */
  #waiting = false
  /** The reply in flight is the last one. */
  #ending = false
  /** The last reply has been sent: input is discarded so that the client can read the reply. */
  #lingering = false
  /** The client has closed its side. */
  #ended = false
  /** The armed timeout is the one for the head. */
  #timesHead = false

  constructor(server: Http1Server, socket: Socket, connection: Connection) {
    super()
    this.#server = server
    this.socket = socket
    this.#connection = connection
    socket.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose).on('drain', this.#onDrain)
    connection.retire = () => this.closeIfIdle()
    this.#rest()
  }

  closeIfIdle(): void {
    if (this.#out === undefined && !this.#reading && this.#size === 0) this.socket.destroySoon()
  }

  /** What the connection was waiting for has timed out. */
  override expire(): void {
    if (this.#timesHead) this.#refuse(new MalformedRequest('its head does not end', 408))
    else this.socket.destroy()
  }

  closes(): boolean {
    this.#ending ||=
      this.#server.host.closing() ||
      this.#connection.retired ||
      this.#ended ||
      // A client that was not asked for its body, or has much of it left, may have sent part of it: nothing can follow.
      this.#waiting ||
      (this.#reading && this.#left > DRAIN_LIMIT)
    return this.#ending
  }

  closeAfterwards(): void {
    this.#ending = true
  }

  date(): string {
    return this.#server.date()
  }

  replied(): void {
    this.#settle()
    if (this.socket.destroyed) return
    if (this.#ending || this.closes()) this.#linger()
    else if (this.#reading) this.#dropBody()
    else this.#rest()
    if (this.#processing) return
    if (this.#size > 0 && !this.#lingering) this.#process(this.#held.subarray(0, this.#size))
    // Pipelined requests are served first: otherwise each reply would let as much again be read.
    if (this.#size <= AHEAD_LIMIT) this.#resume()
  }

  release(): void {
    const { socket } = this
    this.#server.deadlines.disarm(this)
    socket.off('data', this.#onData).off('end', this.#onEnd).off('drain', this.#onDrain)
    socket.pause()
    if (this.#size > 0) socket.unshift(this.#held.subarray(0, this.#size))
    this.#size = 0
  }

  #onData = (chunk: Buffer): void => {
    if (this.#lingering) {
      this.#discarded += chunk.length
      if (this.#discarded > LINGER_LIMIT) this.socket.destroy()
      return
    }
    if (this.#size === 0) {
      this.#process(chunk)
      return
    }
    this.#keep(chunk)
    if (this.#out === undefined) this.#process(this.#held.subarray(0, this.#size))
    else if (this.#size > AHEAD_LIMIT) this.#pause()
  }

  #onEnd = (): void => {
    this.#ended = true
    if (!this.#lingering && (this.#reading || (this.#size > 0 && this.#out === undefined)))
      this.#refuse(new MalformedRequest('it ends too early'))
    // A half-closed client that still reads cannot be told from one that has gone.
    else this.socket.destroySoon()
  }

  #onClose = (): void => {
    this.#server.gone(this)
    this.#reading = false
    this.#incoming?.destroy(new Error('the client left'))
    this.#settle()
  }

  #onDrain = (): void => this.#out?.drained()

  /** Takes as many requests from `bytes` as can be served now, and keeps the rest. */
  #process(bytes: Buffer): void {
    let at = 0
    this.#processing = true
    try {
      while (at < bytes.length && !this.#lingering) {
        if (this.#reading) at = this.#fill(bytes, at)
        else if (this.#out !== undefined) break
        else {
          const next = this.#begin(bytes, at)
          if (next < 0) break
          at = next
        }
      }
    } catch (error) {
      if (!(error instanceof MalformedRequest)) throw error
      this.#refuse(error)
    } finally {
      this.#processing = false
    }
    this.#hold(bytes, at)
  }

  #hold(bytes: Buffer, at: number): void {
    const size = this.#lingering ? 0 : bytes.length - at
    if (at === 0 && size === this.#size && size > 0) return
    this.#held = size === 0 ? EMPTY : at === 0 ? bytes : bytes.subarray(at)
    this.#size = size
  }

  #keep(chunk: Buffer): void {
    const size = this.#size + chunk.length
    if (this.#held.length < size) {
      const larger = Buffer.allocUnsafe(Math.max(4096, size * 2))
      this.#held.copy(larger, 0, 0, this.#size)
      this.#held = larger
    }
    chunk.copy(this.#held, this.#size)
    this.#size = size
  }

  /** Serves the request whose head begins at `from`. Returns the offset after it; -1 if more bytes are needed. */
  #begin(bytes: Buffer, from: number): number {
    let at = from
    // RFC 9112 2.2: empty lines before a request are ignored.
    while (bytes[at] === CR && bytes[at + 1] === LF) at += 2
    if (at - from > 2 * EMPTY_LINES) throw new MalformedRequest('empty lines')
    const end = bytes.indexOf(END, Math.max(at, from + this.#searched - 3))
    if (end < 0 || end - at > HEAD_LIMIT) {
      this.#await(bytes, at, from)
      return -1
    }
    this.#searched = 0
    this.#timesHead = false
    this.#server.deadlines.disarm(this)
    const secure = this.#connection.facts.tls !== undefined
    const { http1 } = this.#server.host.bind().frontend
    return this.#serve(readHttp1Head(bytes, at, end + 4, secure, http1.preserveCase), bytes, end + 4, http1.maxHeaders)
  }

  /** Keeps an incomplete head, unless it is already certain to be invalid. */
  #await(bytes: Buffer, at: number, from: number): void {
    if (bytes.length - at > HEAD_LIMIT) throw new MalformedRequest('head too large', 431)
    const first = bytes[at] ?? LETTER
    if ((first < LETTER || first > LAST_LETTER) && first !== CR) throw new MalformedRequest('method')
    for (let lf = bytes.indexOf(LF, from + this.#searched); lf >= 0; lf = bytes.indexOf(LF, lf + 1)) {
      if (lf === 0 || bytes[lf - 1] !== CR) throw new MalformedRequest('line end')
    }
    this.#searched = bytes.length - from
    if (this.#timesHead) return
    this.#timesHead = true
    this.#server.deadlines.arm(this, HEAD_TIMEOUT)
  }

  #serve(request: Http1Head, bytes: Buffer, at: number, maxHeaders: number): number {
    const { head, upgrade, problem } = request
    const { host } = this.#server
    // What follows belongs to another protocol, or is ignored.
    const detached = upgrade !== undefined || head.method === 'CONNECT'
    const length = detached ? 0 : request.length
    const whole = length !== undefined && bytes.length - at >= length
    const waits = request.waits && !whole
    const from = whole ? bytes.subarray(at, at + length) : this.#expectBody(length)
    const body = new SocketBody(from, length, host.runtime, waits ? this.#askForIt : undefined, this.#chunks?.trailers)
    this.#waiting = waits
    this.#ending = request.closes || detached
    const x = exchangeFor(
      { connection: this.#connection, httpVersion: request.minor === 1 ? '1.1' : '1.0', head, body, upgrade },
      host,
    )
    const refusal =
      head.headers.raw.length > 2 * maxHeaders
        ? new GatewayError('headersTooLarge')
        : problem === undefined
          ? undefined
          : new GatewayError('invalidRequest')
    if (refusal) this.#ending = true
    const out = new Http1Downstream(this, x, request.minor)
    this.#out = out
    this.#over = false
    const serving = serveExchange(x, out, host, refusal)
    if (this.#over) serving.finish()
    else this.#serving = serving
    return whole ? at + length : at
  }

  #expectBody(length: number | undefined): IncomingBody {
    this.#reading = true
    this.#left = length ?? 0
    this.#chunks = length === undefined ? new ChunkReader() : undefined
    this.#discarded = 0
    this.#incoming = new IncomingBody(() => {
      if (this.#reading) this.#resume()
    })
    return this.#incoming
  }

  #askForIt = (): void => {
    this.#waiting = false
    if (this.#out?.state === 'waiting' && this.socket.writable) {
      this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
    }
  }

  /** Reads body bytes; returns where the body or `bytes` ends. */
  #fill(bytes: Buffer, from: number): number {
    let at: number
    if (this.#chunks === undefined) {
      at = Math.min(bytes.length, from + this.#left)
      this.#left -= at - from
      this.#take(bytes.subarray(from, at))
      if (this.#left > 0) return at
    } else {
      at = this.#chunks.read(bytes, from, this.#take)
      if (!this.#chunks.done) return at
    }
    this.#reading = false
    this.#chunks = undefined
    this.#incoming?.push(null)
    this.#incoming = undefined
    if (this.#out === undefined && !this.#lingering) this.#rest()
    return at
  }

  #take = (data: Buffer): void => {
    if (this.#incoming !== undefined) {
      if (!this.#incoming.push(data)) this.#pause()
      return
    }
    this.#discarded += data.length
    if (this.#discarded > DRAIN_LIMIT && !this.#lingering) this.#linger()
  }

  /** The reply was sent before the request was complete: the rest is drained so that another request can follow. */
  #dropBody(): void {
    this.#incoming?.destroy()
    this.#incoming = undefined
    this.#server.deadlines.arm(this, DRAIN_TIMEOUT)
    this.#resume()
  }

  /** Becomes idle. */
  #rest(): void {
    if (this.#server.host.closing() || this.#connection.retired) {
      this.socket.destroySoon()
      return
    }
    const { idleTimeout } = this.#server.host.bind().frontend.http1
    if (idleTimeout > 0) this.#server.deadlines.arm(this, idleTimeout)
    else this.#server.deadlines.disarm(this)
  }

  /**
   * Half-closes: a full close while the client is still sending would reset the connection, and the client could lose a
   * reply that it has not read yet.
   */
  #linger(): void {
    this.#lingering = true
    this.#discarded = 0
    this.#incoming?.destroy()
    this.#incoming = undefined
    this.#reading = false
    this.#size = 0
    if (this.#ended) {
      this.socket.destroySoon()
      return
    }
    this.socket.end()
    this.#timesHead = false
    this.#server.deadlines.arm(this, DRAIN_TIMEOUT)
    this.#resume()
  }

  /** Rejects malformed input; after a reply has begun, an error reply would be read as part of it. */
  #refuse(refusal: MalformedRequest): void {
    const replying = this.#out !== undefined && this.#out.state !== 'waiting'
    const incoming = this.#incoming
    this.#incoming = undefined
    this.#lingering = true
    // The body of a request may still have been arriving after its reply was sent and recorded.
    if (this.#out !== undefined) markRefused(this.#out.exchange, refusal)
    else if (!this.#reading) this.#record(refusal)
    this.#settle()
    incoming?.destroy(new Error('the client sent no valid request'))
    if (replying || !this.socket.writable) {
      this.socket.destroy()
      return
    }
    this.socket.write(refusalReply(refusal), 'latin1')
    this.#linger()
  }

  #record(refusal: MalformedRequest): void {
    recordRefusedHead(refusal, this.#connection, this.#server.host, refusal.status === 408 ? HEAD_TIMEOUT : 0)
  }

  /** The exchange is over, whether complete or not. */
  #settle(): void {
    if (this.#out === undefined) return
    this.#out = undefined
    const serving = this.#serving
    this.#serving = undefined
    if (serving === undefined) this.#over = true
    else serving.finish()
  }

  #pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.socket.pause()
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.socket.resume()
  }
}

const LETTER = 65
const LAST_LETTER = 90
