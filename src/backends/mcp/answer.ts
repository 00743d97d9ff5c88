import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { SSE_COMMENT } from '../../http/sse.ts'
import type { ChunkSink, ResponseHandler } from '../../http/transport.ts'
import { errorReply, INTERNAL_ERROR, type RpcError } from '../../mcp/errors.ts'
import type { RequestId } from '../../mcp/message.ts'
import type { Clock, Timer } from '../../runtime/runtime.ts'
import type { Flow, TargetFailure } from './connection.ts'

/** Interval in ms between keep-alive comments on a silent stream. */
const KEEP_ALIVE = 15_000
/** ms until a waiting client gets the priming event with the stream's position; faster replies skip it. */
const PRIME = 20

const EVENT_START = Buffer.from('event: message\ndata: ')
const EVENT_END = Buffer.from('\n\n')

/** Keeps a stream's events for a client that reconnects. */
export interface EventKeeper {
  /** The answer that currently writes to the client. */
  live: Answer | undefined
  /** The client has an event id to resume from. */
  readonly begun: boolean
  readonly over: boolean
  /** `last`: the final event. */
  frame(data: Buffer, last: boolean): Buffer
  /** A frame with only the stream's position, for clients that accept events without data. */
  readonly prime: (() => Buffer) | undefined
  /** The id of the target's next event. */
  at(target: string, event: string): void
  /** The client disconnected. */
  leave(): void
  /** Runs `then` if no client resumes in time, unless the stream ends first. */
  onGivenUp(then: () => void): void
  end(): void
}

/**
 * The answer to one client request: an event stream that starts with its first message, or, as long as nothing was
 * sent, an error with a status. Calls after the final event are ignored.
 */
export class Answer implements Flow {
  readonly x: Exchange
  /** The stream is shared with other writers: messages must be written whole. */
  readonly shared: boolean
  readonly #on: ResponseHandler
  readonly #clock: Clock
  #session: string | undefined
  /** The head is held until the session has an id, however long that takes. */
  #held = false
  #sink: ChunkSink | undefined
  #over = false
  #full = false
  #waiting: (() => void)[] = []
  #ending: (() => void)[] | undefined
  #keepAlive: Timer | undefined
  #quiet = true
  #kept: EventKeeper | undefined
  /** The last raw bytes ended in the middle of an event. */
  #inEvent = false

  constructor(x: Exchange, on: ResponseHandler, clock: Clock, shared = false) {
    this.x = x
    this.shared = shared
    this.#on = on
    this.#clock = clock
    this.#watch()
    x.onAbort(() => this.#finish())
  }

  get started(): boolean {
    return this.#sink !== undefined
  }

  /** Complete, and no client can resume it. */
  get over(): boolean {
    return this.#over && !this.#left
  }

  /** The client disconnected and may resume. */
  get #left(): boolean {
    const kept = this.#kept
    return this.#over && kept?.begun === true && !kept.over
  }

  /** From now on, events get ids from which the stream can be resumed. */
  keep(events: EventKeeper): void {
    this.#kept = events
    events.live = this
    this.#primeSoon()
  }

  #primeSoon(): void {
    if (this.#over || !this.#kept?.prime || this.#kept.begun) return
    this.#keepAlive?.cancel()
    this.#watch(PRIME)
  }

  /** The id of the target's next event. `silent`: no event follows; a client with another position is sent this one. */
  at(target: string, event: string, silent: boolean): void {
    const kept = this.#kept
    kept?.at(target, event)
    if (silent && kept?.prime && kept.begun) (kept.live ?? this).raw(kept.prime())
  }

  /** Another answer continues the stream; further writes go there. */
  handOver(): void {
    const sink = this.#sink
    this.#finish()
    sink?.end()
  }

  /** Runs `then` once the client is gone for good. */
  onLeave(then: () => void): void {
    this.x.onAbort(() => (this.#left ? this.#kept?.onGivenUp(then) : then()))
  }

  get full(): boolean {
    return this.#full
  }

  onRoom(then: () => void): void {
    if (this.#full && !this.#over) this.#waiting.push(then)
    else then()
  }

  /** Runs `then` when the answer is complete or abandoned. */
  onEnd(then: () => void): void {
    if (this.#over) then()
    else if (this.#ending) this.#ending.push(then)
    else this.#ending = [then]
  }

  hold(): void {
    this.#held = true
  }

  /** Sets the id of a new session and releases the head. */
  release(session: string | undefined): void {
    this.#held = false
    this.#session = session
    this.#primeSoon()
  }

  /** Sends the head of an event stream. */
  open(): void {
    if (this.#over || this.#sink) return
    const fields = ['content-type', 'text/event-stream', 'cache-control', 'no-cache']
    if (this.#session !== undefined) fields.push('mcp-session-id', this.#session)
    const sink = this.#on.head(200, new HeaderList(fields, true))
    this.#sink = sink
    sink.onDrain(() => this.#drained())
  }

  /** One message, as JSON without line breaks. */
  event(json: Buffer | string, last = false): void {
    const data = typeof json === 'string' ? Buffer.from(json) : json
    if (this.#kept) {
      const frame = this.#kept.frame(data, last)
      ;(this.#kept.live ?? this).raw(frame)
      return
    }
    this.raw(Buffer.concat([EVENT_START, data, EVENT_END], EVENT_START.length + data.length + EVENT_END.length))
  }

  /** The last message. */
  finalEvent(json: Buffer | string): void {
    this.event(json, true)
    this.end()
  }

  /** Begins a message whose bytes follow through `raw`; `endEvent` ends it and the stream. */
  beginEvent(): void {
    this.raw(EVENT_START)
  }

  endEvent(): void {
    this.raw(EVENT_END)
  }

  /** Raw bytes of an event stream. */
  raw(chunk: Buffer): boolean {
    this.open()
    if (this.#over || !this.#sink || chunk.length === 0) return true
    this.#quiet = false
    this.#inEvent = !endsEvent(chunk)
    if (!this.#sink.write(chunk)) this.#full = true
    return !this.#full
  }

  end(): void {
    const kept = this.#kept
    const { live } = kept ?? {}
    if (live && live !== this) live.end()
    if (this.#over) {
      if (this.#left) kept?.end()
      return
    }
    kept?.end()
    this.open()
    const sink = this.#sink
    this.#finish()
    sink?.end()
  }

  /** 202: accepted, without a body. */
  accepted(): void {
    this.plain(202, [], Buffer.alloc(0))
  }

  /** A whole reply that is not an event stream. */
  plain(status: number, fields: readonly string[], body: Buffer): void {
    if (this.#over || this.#sink) return
    const headers = new HeaderList([...fields, 'content-length', String(body.length)], true)
    this.#finish()
    const sink = this.#on.head(status, headers)
    if (body.length > 0) sink.write(body)
    sink.end()
  }

  /** Hands the client's response over to the caller. */
  takeOver(status: number, headers: HeaderList): ChunkSink {
    this.#finish()
    return this.#on.head(status, headers)
  }

  /** A plain-text response for transport errors: spec table "MCP endpoint". */
  refuse(status: number, detail: string, headers: readonly string[] = []): void {
    if (this.#over) return
    this.#finish()
    this.#on.fail(new GatewayError('mcp', { status, detail, headers }))
  }

  /** A JSON-RPC error: with `status` as long as nothing was sent, as the final event after that. */
  fail(status: number, id: RequestId | null, error: RpcError): void {
    if (this.over) return
    const text = errorReply(id, error)
    if (this.#left) this.finalEvent(text)
    else if (!this.#sink) {
      this.#finish()
      const body = { type: 'application/json', text }
      this.#on.fail(new GatewayError('mcp', { status, detail: error.message, body }))
    } else if (this.#inEvent) this.cut(new GatewayError('mcp', { detail: error.message }))
    else this.finalEvent(text)
  }

  /** Reports the failure of a target. */
  failWith(id: RequestId | null, failure: TargetFailure): void {
    if (failure.http && !this.started) this.plain(failure.http.status, failure.http.headers.raw, failure.http.body)
    else this.fail(500, id, { code: INTERNAL_ERROR, message: `failed to send message: ${failure.message}` })
  }

  /** Aborts the stream, so that the client does not take it for complete. */
  cut(error: Error): void {
    if (this.#over) return
    const sink = this.#sink
    this.#finish()
    if (sink) sink.fail(error)
    else this.#on.fail(error)
  }

  #drained(): void {
    this.#full = false
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const then of waiting) then()
  }

  #finish(): void {
    if (this.#over) return
    this.#over = true
    this.#full = false
    if (this.#left && this.#kept?.live === this) this.#kept.leave()
    this.#keepAlive?.cancel()
    this.#wake()
    const ending = this.#ending
    this.#ending = undefined
    if (ending) for (const then of ending) then()
  }

  /** Also sends the head when the first message is slow: clients and proxies time out on a silent server. */
  #watch(ms = KEEP_ALIVE): void {
    this.#keepAlive = this.#clock.after(ms, () => {
      if (this.#over) return
      const kept = this.#kept
      if (kept?.prime && !kept.begun && !this.#held) this.raw(kept.prime())
      else if (this.#quiet && !this.#full && !this.#inEvent && !this.#held) {
        this.open()
        this.#sink?.write(SSE_COMMENT)
      }
      this.#quiet = true
      this.#watch()
    })
  }
}

function endsEvent(chunk: Buffer): boolean {
  const { length } = chunk
  if (length < 2 || chunk[length - 1] !== 10) return false
  return chunk[length - 2] === 10 || (length >= 4 && chunk[length - 2] === 13 && chunk[length - 3] === 10)
}

/** Whether the client accepts this media type. */
export function accepts(x: Exchange, type: string): boolean {
  return x.request.headers.getAll('accept').some(value => value.toLowerCase().includes(type))
}
