import type { OnReadOpts, Socket } from 'node:net'
import { GatewayError } from '../../../http/errors.ts'
import type { Clock } from '../../../runtime/runtime.ts'
import { callFailure, connectionClosed } from '../failure.ts'
import { FrameGuard } from './frame-guard.ts'
import * as h2 from './frames.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { HpackEncoder } from './hpack-encoder.ts'
import type { Huffman } from './huffman.ts'
import { broken, type FrameReceiver, HEAD_LIMIT, Incoming, windowTooLarge } from './incoming.ts'
import { Outbox } from './outbox.ts'

/** Streams per connection before another one is opened, even if the server allows more; and before its SETTINGS. */
const MAX_STREAMS = 100
const EARLY_STREAMS = 4
/** Size of the table of open streams, indexed by stream id. Ids whose slot is occupied are skipped. */
const PLACES = 256
/** Bytes that a server may send unread on one stream, and on all of them. */
export const STREAM_WINDOW = 256 * 1024
const CONNECTION_WINDOW = 4 * 1024 * 1024
/** Maximum payload of a sent frame, even if the server allows more. */
const MAX_CONCURRENT = 64 * 1024
/** A connection is retired before its stream ids run out. */
const LAST_STREAM = 2 ** 31 - 2 * PLACES

/** What all connections of a transport share. */
export interface Shared {
  readonly clock: Clock
  readonly huffman: Huffman
  /** Sockets are read into this buffer; its content is not retained. */
  readonly buffer: Buffer
  /** Schedules `connection.flush` for the end of this turn. */
  flushLater(connection: Http2Connection): void
}

/** A call as seen by its connection. */
export interface Http2Stream {
  /** Its id and its send window. */
  stream: number
  window: number
  /** Returns false for an interim response. `fields` is undefined if they exceed the limit. */
  onFields(fields: readonly string[] | undefined, end: boolean): boolean
  /** `size`: bytes of the frame's payload, including padding. */
  onData(bytes: Buffer, from: number, to: number, size: number): void
  /** END_STREAM. */
  onEnd(): void
  onReset(code: number): void
  /** The connection closed, or the server rejects the stream. `unprocessed`: it has not processed the request. */
  failed(error: Error, unprocessed: boolean): void
  /** Changes the send window. */
  widen(more: number): void
  /** Counts consumed bytes. Returns the WINDOW_UPDATE to send, or 0. */
  grow(size: number): number
  /** Sends as much of the body as the windows allow. */
  sendMore(): void
}

/** Notifications from a connection to its pool. */
export interface ConnectionOwner {
  /** A call has started or ended. */
  changed(connection: Http2Connection): void
  /** There may be capacity for another call. */
  room(connection: Http2Connection): void
  gone(connection: Http2Connection, error: Error): void
}

/** One connection and the calls on it. A connection error fails them all. */
export class Http2Connection implements FrameReceiver {
  readonly scheme: 'http' | 'https'
  readonly socket: Socket
  readonly #owner: ConnectionOwner
  readonly #shared: Shared
  readonly #outbox = new Outbox()
  readonly #incoming: Incoming
  readonly #guard: FrameGuard
  /** The socket reads into the shared buffer. */
  readonly #reads: boolean
  readonly #encoder = new HpackEncoder()
  readonly #places: (Http2Stream | undefined)[] = Array(PLACES).fill(undefined)
  /** Calls blocked by the connection's window or a full socket, in their order. */
  readonly #held: Http2Stream[] = []
  calls = 0
  closed = false
  /** Connected, and not closed. */
  #open = false
  #retired = false
  /** A flush is scheduled. */
  flushing = false
  #next = 1
  /** Settings of the server. */
  #streams = EARLY_STREAMS
  #greeted = false
  #firstWindow = h2.FIRST_WINDOW
  #frameSize = h2.FRAME_SIZE
  /** The send window, the receive window, and the consumed bytes not yet granted again. */
  #sendWindow = h2.FIRST_WINDOW
  #window = CONNECTION_WINDOW
  #taken = 0

  /** `open` dials; `streams`: it returns a plain stream, which does not support `onread`. Throws what `open` throws. */
  constructor(
    owner: ConnectionOwner,
    shared: Shared,
    secure: boolean,
    open: (onread: OnReadOpts | undefined) => Socket,
    streams: boolean,
  ) {
    this.scheme = secure ? 'https' : 'http'
    this.#owner = owner
    this.#shared = shared
    this.#guard = new FrameGuard(shared.clock)
    this.#incoming = new Incoming(this, new HpackDecoder(HEAD_LIMIT, shared.huffman), this.#guard)
    const { buffer } = shared
    this.#reads = !streams
    this.socket = open(streams ? undefined : { buffer, callback: size => this.#read(buffer, size) })
  }

  /** Called once the socket is connected and HTTP/2 is negotiated. */
  begin(): void {
    const out = this.#outbox
    out.attach(this.socket, () => this.#sendHeld())
    this.#open = true
    this.socket
      .on('error', error => this.destroy(callFailure(error)))
      .on('end', () => this.destroy(connectionClosed()))
      .on('close', () => this.destroy(connectionClosed()))
    if (!this.#reads) this.socket.on('data', (chunk: Buffer) => this.#read(chunk, chunk.length))
    out.preface(SETTINGS)
    this.#tell(h2.WINDOW_UPDATE, 0, CONNECTION_WINDOW - h2.FIRST_WINDOW)
  }

  /** It can take another call. */
  get takes(): boolean {
    return this.#open && !this.#retired && this.calls < this.#streams
  }

  /** Opens a stream for `call`. `fields`: name, value, name, value, with names in lower case. */
  start(call: Http2Stream, fields: readonly string[], end: boolean): void {
    while (this.#places[placeOf(this.#next)] !== undefined) this.#next += 2
    const stream = this.#next
    this.#next += 2
    if (this.#next > LAST_STREAM) this.#retired = true
    call.stream = stream
    call.window = this.#firstWindow
    this.#places[placeOf(stream)] = call
    this.calls++
    this.#owner.changed(this)
    this.#outbox.fields(stream, this.#encoder.encode(fields), end, this.#frameSize)
    this.#flushLater()
  }

  /** Bytes that `call` may send now. */
  roomFor(call: Http2Stream): number {
    if (this.#outbox.full) return 0
    return Math.max(0, Math.min(call.window, this.#sendWindow, this.#frameSize))
  }

  /** Resumes `call` when the connection can send again. */
  hold(call: Http2Stream): void {
    if (!this.#held.includes(call)) this.#held.push(call)
    this.#flushLater()
  }

  /** Sends a DATA frame, at most of the size that `roomFor` returned. `done` runs once the chunk's memory is free. */
  send(call: Http2Stream, chunk: Buffer, from: number, to: number, end: boolean, done?: () => void): void {
    const size = to - from
    call.window -= size
    this.#sendWindow -= size
    this.#outbox.frame(size, h2.DATA, end ? h2.END_STREAM : 0, call.stream)
    this.#outbox.payload(chunk, from, to, done)
    this.#guard.useful()
    this.#flushLater()
  }

  /** Ends the request with trailers. */
  sendTrailers(call: Http2Stream, fields: readonly string[]): void {
    this.#outbox.fields(call.stream, this.#encoder.encode(fields), true, this.#frameSize)
    this.#flushLater()
  }

  /** Counts bytes received on `call` as consumed. */
  took(call: Http2Stream | undefined, size: number): void {
    if (this.closed) return
    this.#taken += size
    if (this.#taken >= CONNECTION_WINDOW / 2) {
      this.#window += this.#taken
      this.#tell(h2.WINDOW_UPDATE, 0, this.#taken)
      this.#taken = 0
    }
    const grown = call?.grow(size)
    if (grown) this.#tell(h2.WINDOW_UPDATE, call!.stream, grown)
  }

  /** Closes the stream of `call`, with RST_STREAM if there is a `code`. */
  end(call: Http2Stream, code?: number): void {
    const place = placeOf(call.stream)
    if (this.#places[place] !== call) return
    this.#places[place] = undefined
    this.calls--
    if (this.closed) return
    if (code !== undefined) this.#tell(h2.RST_STREAM, call.stream, code)
    this.#owner.changed(this)
    if (this.#retired && this.calls === 0) this.#goodbye(h2.NO_ERROR)
    else if (this.#greeted) this.#owner.room(this)
  }

  /** Writes the buffered frames. */
  flush(): void {
    this.flushing = false
    if (this.closed) return
    this.#outbox.flush()
    if (this.#outbox.waiting === 0) this.#guard.answered()
    this.#sendHeld()
  }

  /** Closes after its last call. */
  retire(): void {
    this.#retired = true
    if (this.calls === 0) this.#goodbye(h2.NO_ERROR)
  }

  /** Closes, failing the calls on it. */
  destroy(error: Error): void {
    if (this.closed) return
    this.closed = true
    this.#open = false
    this.#held.length = 0
    this.#incoming.stop()
    this.socket.on('error', () => {}).destroy()
    this.#owner.gone(this, error)
    for (const call of this.#calls()) call.failed(error, false)
  }

  #goodbye(code: number, error: Error = connectionClosed()): void {
    if (this.closed) return
    if (this.#open) {
      this.#outbox.goodbye(code)
      this.#outbox.flush()
    }
    this.destroy(error)
  }

  #calls(): Http2Stream[] {
    return this.#places.filter(call => call !== undefined)
  }

  #flushLater(): void {
    if (!this.flushing) this.#shared.flushLater(this)
  }

  #tell(type: typeof h2.RST_STREAM | typeof h2.WINDOW_UPDATE, stream: number, value: number): void {
    this.#outbox.number(type, stream, value)
    this.#flushLater()
  }

  #sendHeld(): void {
    while (this.#sendWindow > 0 && !this.#outbox.full) {
      const call = this.#held.shift()
      if (call === undefined) return
      call.sendMore()
    }
  }

  #read(bytes: Buffer, size: number): boolean {
    if (this.closed) return false
    try {
      this.#incoming.read(bytes, size)
    } catch (error) {
      if (!(error instanceof h2.BrokenConnection)) throw error
      const failure = new GatewayError('upstreamFailed', {
        detail: `invalid HTTP/2: ${error.message}`,
        retryable: true,
      })
      this.#goodbye(error.code, failure)
    }
    return !this.closed
  }

  /** The call on a stream; undefined if it has ended. */
  #callOn(stream: number): Http2Stream | undefined {
    if ((stream & 1) === 0 || stream >= this.#next) throw broken('a frame on a stream that is not open')
    const call = this.#places[placeOf(stream)]
    return call?.stream === stream ? call : undefined
  }

  onData(stream: number, end: boolean, bytes: Buffer, from: number, to: number, size: number): void {
    const call = this.#callOn(stream)
    this.#window -= size
    if (this.#window < 0) throw new h2.BrokenConnection(h2.FLOW_CONTROL_ERROR, 'more bytes than the window allows')
    if (call === undefined) this.took(undefined, size)
    else {
      call.onData(bytes, from, to, size)
      if (end) call.onEnd()
    }
  }

  onFields(stream: number, end: boolean, fields: readonly string[] | undefined): void {
    if (this.#callOn(stream)?.onFields(fields, end)) this.#guard.useful()
    else this.#guard.idle()
  }

  onReset(stream: number, code: number): void {
    const call = this.#callOn(stream)
    if (call === undefined) return
    this.end(call)
    call.onReset(code)
  }

  onSettings(each: (take: (setting: number, value: number) => void) => void): void {
    const before = this.#firstWindow
    if (!this.#greeted) this.#streams = MAX_STREAMS
    this.#greeted = true
    each((setting, value) => {
      if (setting === h2.HEADER_TABLE_SIZE) this.#encoder.resize(value)
      else if (setting === h2.MAX_CONCURRENT_STREAMS) this.#streams = Math.min(value, MAX_STREAMS)
      else if (setting === h2.INITIAL_WINDOW_SIZE) this.#firstWindow = value
      else if (setting === h2.MAX_FRAME_SIZE) this.#frameSize = Math.min(value, MAX_CONCURRENT)
    })
    this.#guard.answer()
    this.#outbox.frame(0, h2.SETTINGS, h2.ACK, 0)
    this.#flushLater()
    const more = this.#firstWindow - before
    if (more !== 0) for (const call of this.#calls()) call.widen(more)
    if (this.#open) this.#owner.room(this)
  }

  onPing(bytes: Buffer, from: number, to: number): void {
    this.#guard.answer()
    this.#outbox.frame(8, h2.PING, h2.ACK, 0)
    this.#outbox.bytes(bytes, from, to)
    this.#flushLater()
  }

  /** Streams above `last` can be retried; the server finishes the others. */
  onGoaway(last: number): void {
    this.#retired = true
    for (const call of this.#calls()) {
      if (call.stream <= last) continue
      this.end(call)
      call.failed(connectionClosed(), true)
    }
    if (this.calls === 0) this.#goodbye(h2.NO_ERROR)
  }

  onWindow(stream: number, more: number): void {
    if (stream !== 0) {
      this.#callOn(stream)?.widen(more)
      return
    }
    this.#sendWindow += more
    if (this.#sendWindow > h2.LARGEST) throw windowTooLarge()
    this.#sendHeld()
  }
}

const SETTINGS = [
  [h2.ENABLE_PUSH, 0],
  [h2.INITIAL_WINDOW_SIZE, STREAM_WINDOW],
  [h2.MAX_HEADER_LIST_SIZE, HEAD_LIMIT],
] as const

function placeOf(stream: number): number {
  return (stream >> 1) & (PLACES - 1)
}
