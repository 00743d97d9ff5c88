import { Readable } from 'node:stream'
import { GatewayError } from '../../../http/errors.ts'
import { HeaderList } from '../../../http/headers.ts'
import { IncomingBody } from '../../../http/incoming-body.ts'
import { keepChunk } from '../../../http/keep-chunk.ts'
import { TrailingBody } from '../../../http/trailing-body.ts'
import type { ChunkSink, UpstreamRequest } from '../../../http/transport.ts'
import { bodyFailure, protocolFailure } from '../failure.ts'
import { type Http2Connection, type Http2Stream, STREAM_WINDOW } from './connection.ts'
import { requestFields, requestTrailers, responseHead, trailersOf } from './fields.ts'
import * as h2 from './frames.ts'

/** Observes a call: `head` at most once, then exactly one of the others. */
export interface Http2Caller {
  head(status: number, headers: HeaderList): ChunkSink
  ended(): void
  /** Failed before the head. `unprocessed`: the server has not processed the request, so it can be retried. */
  failed(error: Error, unprocessed: boolean): void
}

/** Bytes that a call sends before other calls get their turn. */
const TURN = 64 * 1024

/** One request and its response on an HTTP/2 stream. */
export class Http2Call implements Http2Stream {
  readonly #connection: Http2Connection
  readonly #caller: Http2Caller
  readonly #method: string
  /** The body if it is streamed. */
  readonly #body: Readable | undefined
  /** The stream id and the send window, both set by the connection. */
  stream = 0
  window = 0
  /** Unsent chunks, the offset into the first one, and whether the last chunk has been added. */
  readonly #chunks: Buffer[] = []
  #at = 0
  #whole = false
  #sent = false
  /** Trailers of the request. */
  #closing: readonly string[] = []
  /** The receive window, and the consumed bytes not yet granted again. */
  #room = STREAM_WINDOW
  #taken = 0
  /** Outstanding bytes of the body; -1 without a content-length. */
  #left = -1
  #sink: ChunkSink | undefined
  /** Chunks received while the sink was full. */
  #paused = false
  #kept: Buffer[] = []
  #complete = false
  #trailers: readonly string[] | undefined
  #over = false

  /** Throws GatewayError if the request cannot be sent. */
  constructor(connection: Http2Connection, request: UpstreamRequest, caller: Http2Caller) {
    this.#connection = connection
    this.#caller = caller
    this.#method = request.method
    const { body } = request
    const streamed = body instanceof Readable
    this.#body = streamed ? body : undefined
    const fields = requestFields(request, connection.scheme)
    const bare = body === undefined || (!streamed && body.length === 0)
    connection.start(this, fields, bare)
    if (bare) this.#sent = true
    else if (streamed) this.#pump(body)
    else {
      this.#chunks.push(body)
      this.#whole = true
      this.sendMore()
    }
  }

  cancel(): void {
    if (this.#over) return
    this.#stop()
    this.#connection.end(this, h2.CANCEL)
  }

  failed(error: Error, unprocessed: boolean): void {
    if (!this.#complete) this.#fail(error, unprocessed)
  }

  onReset(code: number): void {
    const detail = code === h2.NO_ERROR ? 'connection closed' : 'stream reset'
    const failure = code === h2.PROTOCOL_ERROR ? protocolFailure('HTTP/2') : undefined
    const error = failure ?? new GatewayError('upstreamFailed', { detail, retryable: true })
    this.failed(error, code === h2.REFUSED_STREAM)
  }

  onFields(fields: readonly string[] | undefined, end: boolean): boolean {
    try {
      if (fields === undefined) this.#fail(protocolFailure('the head is too large'))
      else if (this.#sink !== undefined) this.#onTrailers(fields, end)
      else if (!this.#onHead(fields, end)) return false
    } catch (error) {
      this.#broken(error)
    }
    return true
  }

  onData(bytes: Buffer, from: number, to: number, size: number): void {
    const length = to - from
    this.#room -= size
    if (this.#room < 0) {
      this.#connection.took(undefined, size)
      this.#fail(protocolFailure('more bytes than the window allows'), false, h2.FLOW_CONTROL_ERROR)
      return
    }
    const tooMany = this.#left >= 0 && length > this.#left
    if (this.#sink === undefined || tooMany) {
      this.#connection.took(undefined, size)
      this.#fail(protocolFailure('HTTP/2'), false, h2.PROTOCOL_ERROR)
      return
    }
    if (this.#left > 0) this.#left -= length
    if (length > 0) {
      const chunk = Buffer.allocUnsafe(length)
      bytes.copy(chunk, 0, from, to)
      if (this.#paused) {
        keepChunk(this.#kept, chunk)
        if (size > length) this.#connection.took(this, size - length)
        return
      }
      this.#give(this.#sink, chunk)
    }
    this.#connection.took(this.#over ? undefined : this, size)
  }

  onEnd(): void {
    if (this.#over) return
    if (this.#left > 0 || this.#sink === undefined) {
      this.#fail(protocolFailure('HTTP/2'), false, h2.PROTOCOL_ERROR)
      return
    }
    this.#complete = true
    // The response is complete, so the rest of the request is not needed.
    this.#connection.end(this, this.#sent ? undefined : h2.CANCEL)
    this.#leaveBody()
    if (!this.#paused) this.#finish(this.#sink)
  }

  grow(size: number): number {
    if (this.#complete || this.#over) return 0
    this.#taken += size
    const grown = this.#taken
    if (grown < STREAM_WINDOW / 2) return 0
    this.#taken = 0
    this.#room += grown
    return grown
  }

  widen(more: number): void {
    this.window += more
    if (this.window > h2.LARGEST) this.#fail(protocolFailure('HTTP/2'), false, h2.FLOW_CONTROL_ERROR)
    else if (more > 0) this.sendMore()
  }

  sendMore(): void {
    const connection = this.#connection
    let turn = TURN
    while (!this.#over && this.#chunks.length > 0) {
      const chunk = this.#chunks[0] as Buffer
      const left = chunk.length - this.#at
      const size = Math.min(left, connection.roomFor(this))
      if ((size === 0 && left > 0) || turn <= 0) {
        // A WINDOW_UPDATE of its own stream resumes it too.
        if (this.window > 0) connection.hold(this)
        return
      }
      turn -= size
      const last = size === left
      this.#sent = last && this.#whole && this.#chunks.length === 1 && this.#closing.length === 0
      if (last) this.#chunks.shift()
      const from = this.#at
      this.#at = last ? 0 : from + size
      connection.send(this, chunk, from, from + size, this.#sent, last ? this.#freed(chunk) : undefined)
    }
    if (this.#over || this.#sent) return
    if (!this.#whole) this.#body?.resume()
    else {
      this.#sent = true
      if (this.#closing.length > 0) connection.sendTrailers(this, this.#closing)
      else connection.send(this, NOTHING, 0, 0, true)
    }
  }

  #freed(chunk: Buffer): (() => void) | undefined {
    const body = this.#body
    return body instanceof IncomingBody ? () => body.free(chunk) : undefined
  }

  /** Returns false for an interim response. */
  #onHead(fields: readonly string[], end: boolean): boolean {
    const head = responseHead(fields, this.#method)
    if (head === undefined || (head.status < 200 && (end || head.status === 101))) {
      this.#fail(protocolFailure('HTTP/2'), false, h2.PROTOCOL_ERROR)
      return true
    }
    if (head.status < 200) return false
    this.#left = head.length
    const sink = this.#caller.head(head.status, new HeaderList(head.fields, true))
    if (this.#over) return true
    this.#sink = sink
    if (head.bare) this.#left = 0
    if (end) this.onEnd()
    return true
  }

  #onTrailers(fields: readonly string[], end: boolean): void {
    const trailers = end ? trailersOf(fields) : undefined
    if (trailers === undefined) this.#fail(protocolFailure('HTTP/2'), false, h2.PROTOCOL_ERROR)
    else {
      this.#trailers = trailers
      this.onEnd()
    }
  }

  #give(sink: ChunkSink, chunk: Buffer): void {
    try {
      if (sink.write(chunk) || this.#over) return
    } catch (error) {
      this.#broken(error)
      return
    }
    this.#paused = true
    sink.onDrain(() => this.#drained(sink))
  }

  #drained(sink: ChunkSink): void {
    if (!this.#paused || this.#over) return
    this.#paused = false
    const kept = this.#kept
    this.#kept = []
    for (const chunk of kept) {
      if (this.#paused) {
        this.#kept.push(chunk)
        continue
      }
      if (!this.#over) this.#give(sink, chunk)
      this.#connection.took(this, chunk.length)
    }
    if (this.#complete && !this.#paused && !this.#over) this.#finish(sink)
  }

  #finish(sink: ChunkSink): void {
    this.#over = true
    this.#caller.ended()
    sink.end(this.#trailers)
  }

  /** The caller or its sink threw. */
  #broken(error: unknown): void {
    this.#fail(error instanceof GatewayError ? error : new GatewayError('internal', { cause: error }))
  }

  #fail(error: Error, unprocessed = false, code: number = h2.CANCEL): void {
    if (this.#over) return
    this.#stop()
    this.#connection.end(this, code)
    if (this.#sink) {
      this.#caller.ended()
      this.#sink.fail(error)
    } else this.#caller.failed(error, unprocessed)
  }

  #stop(): void {
    this.#over = true
    this.#leaveBody()
    // Discarded bytes count as consumed for the connection's window.
    const size = this.#kept.reduce((sum, { length }) => sum + length, 0)
    this.#kept = []
    if (size > 0) this.#connection.took(undefined, size)
  }

  #leaveBody(): void {
    const body = this.#body
    this.#chunks.length = 0
    if (!body || this.#sent) return
    this.#sent = true
    body.off('data', this.#onChunk).off('end', this.#onWhole).off('close', this.#onBodyGone)
    // Its owner handles the rest; a late error must not crash the process.
    body.pause()
  }

  #pump(body: Readable): void {
    body.on('error', this.#onBodyGone)
    if (body.readableEnded) this.#onWhole()
    else if (body.destroyed) process.nextTick(this.#onBodyGone)
    else body.on('data', this.#onChunk).on('end', this.#onWhole).on('close', this.#onBodyGone).resume()
  }

  #onChunk = (chunk: Buffer): void => {
    this.#chunks.push(chunk)
    this.sendMore()
    if (this.#chunks.length > 0) this.#body?.pause()
  }
  #onWhole = (): void => {
    try {
      if (this.#body instanceof TrailingBody) this.#closing = requestTrailers(this.#body.trailers)
      this.#whole = true
      this.sendMore()
    } catch (error) {
      this.#fail(error as Error)
    }
  }
  #onBodyGone = (error?: Error): void => {
    if (!this.#whole && !this.#sent) this.#fail(bodyFailure(error))
  }
}

const NOTHING = Buffer.alloc(0)
