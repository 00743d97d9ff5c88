import type { OnReadOpts, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { GatewayError } from '../../http/errors.ts'
import { HeaderList } from '../../http/headers.ts'
import type { ChunkSink } from '../../http/transport.ts'
import type { BodySender } from './body-sender.ts'
import { Timed } from './deadlines.ts'
import { callFailure, connectFailure, connectionClosed, connectTimedOut, isDisconnect } from './failure.ts'
import { ResponseParser, type ResponseReceiver } from './http1-parser.ts'
import { LARGE, type ReadBuffers, SMALL } from './read-buffers.ts'

/** A call as its connection sees it. */
export interface CallOnWire {
  readonly method: string
  /** The serialized request head, one byte per character. */
  readonly text: string
  readonly body: Buffer | BodySender | undefined
  readonly upgrade: boolean
  head(status: number, headers: HeaderList): ChunkSink
  switched(status: number, headers: HeaderList, socket: Duplex): void
  /** Failed before the head. `stale`: a reused connection closed without sending a byte. */
  failed(error: Error, stale: boolean): void
  /** The sink's `end` or `fail` follows immediately. */
  ended(): void
}

/** What a connection reports to its pool. */
export interface ConnectionOwner {
  connected(connection: Http1Connection): void
  /** Ready for the next call. */
  idle(connection: Http1Connection): void
  gone(connection: Http1Connection): void
}

/** A head and a small body are sent as one string: one write, without a vector. */
const ONE_WRITE = 12 * 1024
/** From this size on, part of a body is passed on in the memory it was read into; smaller parts would pin too much. */
const HAND_OVER = 12 * 1024
const HAND_OVER_LARGE = SMALL
/** With this much left or read at once, reads go to memory that can be handed over, */
const BULK = 16 * 1024
/** and with this much, to large buffers. */
const LARGE_BULK = 256 * 1024

/** One connection and the call on it, if any. Anything ambiguous closes it. */
export class Http1Connection extends Timed implements ResponseReceiver {
  readonly #owner: ConnectionOwner
  readonly #buffers: ReadBuffers
  readonly #parser = new ResponseParser(this)
  readonly #socket: Socket
  /** After a protocol switch the new owner needs an ordinary stream. */
  readonly #streaming: boolean
  #call: CallOnWire | undefined
  #sink: ChunkSink | undefined
  #paused = false
  /** This connection's own buffer, which may be handed to a receiver. */
  #own: Buffer | undefined
  /** Minimum bytes to hand it over. */
  #worth = HAND_OVER
  #handedOver = false
  /** It counts among the users of large buffers. */
  #large = false
  #lastRead = 0
  #connecting = true
  /** A response has been received on it. */
  #used = false
  /** The server's `keep-alive` field, and the ms parsed from it. */
  #keepAlive: string | undefined
  #kept = Number.POSITIVE_INFINITY
  closed = false

  /** Dials for `call`; `streams`: `open` returns an ordinary stream. Throws what `open` throws. */
  constructor(
    owner: ConnectionOwner,
    buffers: ReadBuffers,
    call: CallOnWire,
    ready: 'connect' | 'secureConnect',
    open: (onread: OnReadOpts | undefined) => Socket,
    streams = false,
  ) {
    super()
    this.#owner = owner
    this.#buffers = buffers
    this.#call = call
    this.#streaming = streams || call.upgrade || call.method === 'CONNECT'
    const socket = open(
      this.#streaming
        ? undefined
        : { buffer: () => this.#target(), callback: (size, bytes) => this.#read(bytes as Buffer, size) },
    )
    this.#socket = socket
    if (this.#streaming) socket.on('readable', this.#onReadable)
    socket.on('error', this.#onError).on('end', this.#onEnd).on('close', this.#onClose)
    socket.once(ready, () => {
      if (this.closed) return
      this.#connecting = false
      owner.connected(this)
      this.send(this.#call as CallOnWire)
    })
  }

  send(call: CallOnWire): void {
    const { text, body } = call
    const socket = this.#socket
    this.#call = call
    this.#parser.start(call.method, call.upgrade)
    if (body === undefined) socket.write(text, 'latin1')
    else if (!Buffer.isBuffer(body)) {
      socket.write(text, 'latin1')
      body.begin(socket, error => this.#fail(error))
    } else if (body.length <= ONE_WRITE) socket.write(text + body.toString('latin1'), 'latin1')
    else {
      socket.cork()
      socket.write(text, 'latin1')
      socket.write(body)
      socket.uncork()
    }
  }

  /** Closes; the call on it, if any, is not notified. */
  close(): void {
    if (this.closed) return
    this.closed = true
    const body = this.#call?.body
    if (body !== undefined && !Buffer.isBuffer(body)) body.stop()
    this.#call = undefined
    this.#sink = undefined
    this.#parser.stop()
    this.#leaveLarge()
    this.#socket.destroy()
    this.#owner.gone(this)
  }

  /** Closes; the call on it, if any, fails. */
  abort(error: Error): void {
    this.#fail(error)
  }

  /** The connect or idle timeout has expired. */
  override expire(): void {
    this.#fail(connectTimedOut())
  }

  /** ms that it may stay idle: the server's own `keep-alive` time minus a second, at most `limit`. */
  idleTime(limit: number): number {
    const { keepAlive } = this.#parser
    if (keepAlive === undefined) return limit
    if (keepAlive !== this.#keepAlive) {
      this.#keepAlive = keepAlive
      const seconds = /(?:^|[,\s])timeout=(\d{1,6})/i.exec(keepAlive)?.[1]
      this.#kept = seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000 - 1000
    }
    return Math.min(limit, this.#kept)
  }

  onHead(status: number, fields: string[]): void {
    const call = this.#call as CallOnWire
    const sink = call.head(status, new HeaderList(fields, true))
    // The call may have been canceled reentrantly.
    if (this.#call === call) this.#sink = sink
  }

  onBody(bytes: Buffer, from: number, to: number): void {
    const sink = this.#sink as ChunkSink
    let open: boolean
    if (bytes === this.#own && to - from >= this.#worth && !this.#handedOver) {
      this.#handedOver = true
      open = sink.write(bytes.subarray(from, to), this.#buffers.release(bytes))
    } else {
      const copy = Buffer.allocUnsafe(to - from)
      bytes.copy(copy, 0, from, to)
      open = sink.write(copy)
    }
    if (open || this.#paused || this.#sink !== sink) return
    this.#paused = true
    sink.onDrain(() => {
      if (!this.#paused || this.#sink !== sink) return
      this.#paused = false
      if (this.#streaming) this.#onReadable()
      else this.#socket.resume()
    })
  }

  onEnd(trailers: string[] | undefined, reusable: boolean): void {
    const call = this.#call as CallOnWire
    const sink = this.#sink as ChunkSink
    const { body } = call
    const sent = body === undefined || Buffer.isBuffer(body) || body.finished
    this.#leaveLarge()
    if (reusable && sent) {
      this.#call = undefined
      this.#sink = undefined
      this.#paused = false
      this.#used = true
      this.#owner.idle(this)
    } else this.close()
    call.ended()
    sink.end(trailers)
  }

  onSwitch(status: number, fields: string[], bytes: Buffer, from: number, to: number): void {
    const call = this.#call as CallOnWire
    const socket = this.#socket
    this.#call = undefined
    this.closed = true
    socket.off('readable', this.#onReadable).off('error', this.#onError)
    socket.off('end', this.#onEnd).off('close', this.#onClose)
    // The new owner adds its own listener, possibly later.
    socket.on('error', () => {})
    if (to > from) socket.unshift(Buffer.from(bytes.subarray(from, to)))
    this.#owner.gone(this)
    call.switched(status, new HeaderList(fields, true), socket)
  }

  /** The buffer for the next read. */
  #target(): Buffer {
    const own = this.#handedOver ? undefined : this.#own
    this.#handedOver = false
    const { left } = this.#parser
    const bulk = this.#sink !== undefined && (this.#own !== undefined || this.#lastRead >= BULK || left >= BULK)
    const size = bulk && this.#wantsLarge(left) ? LARGE : SMALL
    if (bulk && own?.length === size) return own
    if (own !== undefined) this.#buffers.put(own)
    this.#own = bulk ? this.#buffers.take(size) : undefined
    this.#worth = size === LARGE ? HAND_OVER_LARGE : HAND_OVER
    return this.#own ?? this.#buffers.shared
  }

  /** A large body fills its read buffers; at first, only the announced length can tell. */
  #wantsLarge(left: number): boolean {
    const filled = this.#lastRead >= (this.#own === undefined ? BULK : SMALL)
    if (!filled || (this.#own === undefined && left < LARGE_BULK)) return false
    this.#large ||= this.#buffers.enterLarge()
    return this.#large
  }

  #leaveLarge(): void {
    if (this.#large) this.#buffers.leaveLarge()
    this.#large = false
  }

  /** False stops reading. */
  #read(bytes: Buffer, size: number): boolean {
    if (this.closed) return false
    if (this.#call === undefined) {
      // Unsolicited bytes: nothing else on this connection can be trusted.
      this.close()
      return false
    }
    this.#lastRead = size
    try {
      this.#parser.execute(bytes, 0, size)
    } catch (error) {
      if (error instanceof GatewayError) this.#fail(error)
      // A receiver threw, which is a bug; after the end nothing is left to report it to.
      else if (this.#call === undefined) throw error
      else this.#fail(new GatewayError('internal', { cause: error }))
    }
    return !this.closed && !this.#paused
  }

  /** Closes; the call on it, if any, fails. */
  #fail(error: Error, disconnected = false): void {
    const call = this.#call
    const sink = this.#sink
    const stale = disconnected && this.#used && !this.#parser.began
    this.close()
    if (call === undefined) return
    if (sink === undefined) call.failed(error, stale)
    else {
      call.ended()
      sink.fail(error)
    }
  }

  #onReadable = (): void => {
    while (!this.closed && !this.#paused) {
      const chunk: Buffer | null = this.#socket.read()
      if (chunk === null) return
      this.#read(chunk, chunk.length)
    }
  }

  #onError = (error: Error): void => {
    if (this.#connecting) this.#fail(connectFailure(error))
    else this.#fail(callFailure(error), isDisconnect(error))
  }

  #onEnd = (): void => {
    if (this.closed) return
    if (this.#call === undefined || !this.#parser.began) {
      this.#fail(connectionClosed(), true)
      return
    }
    try {
      this.#parser.finish()
    } catch (error) {
      this.#fail(callFailure(error))
    }
  }

  #onClose = (): void => {
    this.#fail(connectionClosed(), true)
  }
}
