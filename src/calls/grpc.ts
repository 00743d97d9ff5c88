// gRPC calls: unary, or streaming both ways. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
import { Readable } from 'node:stream'
import { GatewayError } from '../http/errors.ts'
import { type BodySource, bodyOf, type Exchange } from '../http/exchange.ts'
import { HeaderList } from '../http/headers.ts'
import type { ChunkSink, ResponseHandler } from '../http/transport.ts'
import { serviceExchange } from './ask.ts'
import type { CallRuntime } from './call-record.ts'
import { FrameReader, frame } from './grpc-frames.ts'
import { type Callee, makeCall, type Outcall } from './outcall.ts'

export interface GrpcCall extends Outcall {
  /** `/package.Service/Method` */
  readonly path: string
  /** Metadata beyond what gRPC requires: name, value, name, value. */
  readonly fields?: readonly string[]
  /** Scope of its events in the trace. */
  readonly scope: string
  /** Maximum bytes of one response message; 4 MiB if unset, as in gRPC's own clients. */
  readonly limit?: number
}

/** The service responded with a status other than OK, or with something that is not gRPC. */
export class GrpcFailure extends Error {
  /** 1 to 16; for a response without a status, the one that gRPC maps its HTTP status to. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'GrpcFailure'
    this.status = status
  }
}

export interface GrpcReply {
  readonly message: Buffer
  /** Metadata before and after the message. */
  readonly headers: HeaderList
  readonly trailers: HeaderList
}

const LIMIT = 4 * 1024 * 1024

/**
 * A unary call. `timeout` covers the whole call, which ends with the request `client` that it is made for. Throws
 * GrpcFailure for a failed response, GatewayError if none arrives.
 */
export function grpcUnary(
  to: Callee,
  call: GrpcCall,
  message: Uint8Array,
  runtime: CallRuntime,
  client?: Exchange,
): Promise<GrpcReply> {
  return new Promise((resolve, reject) => {
    let reply: Buffer | undefined
    let headers = new HeaderList()
    const stream = new GrpcExchange(call, runtime, {
      headers: received => {
        headers = received
      },
      message(received) {
        reply ??= received
        return true
      },
      end: trailers =>
        reply
          ? resolve({ message: reply, headers, trailers })
          : reject(new GrpcFailure(13, 'no message in the answer')),
      fail: reject,
    })
    stream.start(to, bodyOf(frame(message)), client)
  })
}

/** Receives what a service sends. `end` or `fail` is called once, and nothing after it. */
export interface GrpcEvents {
  headers?(headers: HeaderList): void
  /** False applies back-pressure: the service is paused until `resume`. */
  message(message: Buffer): boolean
  /** The service has ended the call with OK. */
  end(trailers: HeaderList): void
  /** GrpcFailure or GatewayError. */
  fail(error: Error): void
}

export interface GrpcStream {
  /** False if the service does not keep up; `onDrain` runs once it does. */
  write(message: Uint8Array): boolean
  /** Replaces the callback that runs when there is capacity again. */
  onDrain(then: () => void): void
  /** Half-closes: no more messages will be sent. */
  end(): void
  /** Call after `message` has returned false. */
  resume(): void
  /** Runs once a connection accepts the messages; never if none is established. */
  onBegin(then: () => void): void
  /** Cancels the call; no further events follow. */
  cancel(): void
}

/** A bidirectional stream without a time limit. `timeout` is for the response head; 0 for none. */
export function grpcStream(
  to: Callee,
  call: GrpcCall,
  events: GrpcEvents,
  runtime: CallRuntime,
  client?: Exchange,
): GrpcStream {
  const sent = new SentMessages()
  const stream = new GrpcExchange(call, runtime, events, 'stream')
  stream.start(to, sent.source, client)
  return {
    write: message => sent.push(frame(message)),
    onDrain: then => sent.onDrain(then),
    end: () => sent.push(null),
    resume: () => stream.resume(),
    onBegin: then => sent.onBegin(then),
    cancel: () => stream.cancel(),
  }
}

/** Outgoing messages, read by the transport with back-pressure. */
class SentMessages extends Readable {
  #drained = (): void => {}
  #full = false
  readonly source: BodySource

  constructor() {
    super({ highWaterMark: 64 * 1024 })
    this.source = {
      length: undefined,
      bytes: undefined,
      buffer: () => Promise.reject(new GatewayError('bodyUnreadable', { detail: 'a stream of messages' })),
      prefix: () => Promise.reject(new GatewayError('bodyUnreadable', { detail: 'a stream of messages' })),
      replace: () => {},
      take: () => this,
    }
    // The caller already knows of a cancellation.
    this.on('error', () => {})
  }

  override push(chunk: Buffer | null): boolean {
    const room = super.push(chunk)
    this.#full = !room
    return room
  }

  override _read(): void {
    if (!this.#full) return
    this.#full = false
    this.#drained()
  }

  onDrain(then: () => void): void {
    this.#drained = then
  }

  /** The transport starts reading only on a connection. */
  onBegin(then: () => void): void {
    if (this.readableFlowing) then()
    else this.once('resume', then)
  }
}

/** One call: sends its request and parses its response message by message. */
class GrpcExchange implements ResponseHandler, ChunkSink {
  readonly #call: GrpcCall
  readonly #runtime: CallRuntime
  readonly #events: GrpcEvents
  readonly #reader: FrameReader
  /** Deadline of the whole call; absent for streams. */
  readonly #timer: { cancel(): void } | undefined
  #making: { cancel(): void } | undefined
  #status = 0
  #headers = new HeaderList()
  #paused = false
  #drained = (): void => {}
  /** Set once the body has ended. */
  #trailers: readonly string[] | undefined
  #over = false

  constructor(call: GrpcCall, runtime: CallRuntime, events: GrpcEvents, kind: 'unary' | 'stream' = 'unary') {
    const { timeout, limit = LIMIT } = call
    this.#call = call
    this.#runtime = runtime
    this.#events = events
    this.#reader = new FrameReader(limit)
    this.#timer =
      kind === 'unary' && timeout > 0
        ? runtime.clock.after(timeout, () => {
            this.#making?.cancel()
            this.fail(new GatewayError('upstreamTimeout', { retryable: true }))
          })
        : undefined
  }

  start(to: Callee, body: BodySource, client: Exchange | undefined): void {
    const { timeout, fields = [] } = this.#call
    const limit = timeout > 0 ? ['grpc-timeout', `${Math.min(timeout, 99_999_999)}m`] : []
    const sent = ['content-type', 'application/grpc', 'te', 'trailers', ...(this.#timer ? limit : []), ...fields]
    const request = { ...this.#call, method: 'POST', fields: sent }
    try {
      const x = serviceExchange(to, request, body, this.#runtime, client, '2.0')
      this.#making = makeCall(x, to, this.#call, this.#runtime, this)
    } catch (error) {
      this.fail(error as Error)
    }
  }

  head(status: number, headers: HeaderList): ChunkSink {
    this.#status = status
    this.#headers = headers
    if (status === 200) this.#events.headers?.(headers)
    return this
  }

  write(chunk: Buffer): boolean {
    // For a non-gRPC response, only the HTTP status counts.
    if (this.#over || this.#status !== 200) return true
    this.#reader.push(chunk)
    this.#read()
    return !this.#paused
  }

  end(trailers: readonly string[] = []): void {
    this.#trailers = trailers
    if (!this.#paused) this.#finish()
  }

  fail(error: Error): void {
    if (this.#over) return
    this.#close()
    this.#events.fail(error)
  }

  onDrain(then: () => void): void {
    this.#drained = then
  }

  resume(): void {
    if (!this.#paused || this.#over) return
    this.#paused = false
    this.#read()
    if (this.#paused || this.#over) return
    if (this.#trailers) this.#finish()
    else this.#drained()
  }

  cancel(): void {
    this.#close()
    this.#making?.cancel()
  }

  #read(): void {
    while (!this.#paused && !this.#over) {
      const message = this.#reader.next()
      if (message === undefined) return
      if (Buffer.isBuffer(message)) this.#paused = !this.#events.message(message)
      else {
        this.#making?.cancel()
        this.fail(new GrpcFailure(message.status, `the service sent ${message.problem}`))
      }
    }
  }

  /** The status is in the trailers, or in the head if there are no messages. */
  #finish(): void {
    if (this.#over) return
    const trailers = new HeaderList(this.#trailers ?? [])
    const text = trailers.get('grpc-status') ?? this.#headers.get('grpc-status')
    const said = trailers.get('grpc-message') ?? this.#headers.get('grpc-message') ?? ''
    if (text === undefined) this.fail(withoutStatus(this.#status))
    else if (text !== '0') this.fail(new GrpcFailure(statusOf(text), `gRPC status ${text} ${decoded(said)}`.trim()))
    else if (this.#reader.partial) this.fail(new GrpcFailure(INTERNAL, 'the last message is truncated'))
    else {
      this.#close()
      this.#events.end(trailers)
    }
  }

  #close(): void {
    this.#over = true
    this.#timer?.cancel()
  }
}

const UNKNOWN = 2
const INTERNAL = 13
const UNAVAILABLE = 14
/** grpc/doc/http-grpc-status-mapping.md */
const FROM_HTTP: Readonly<Record<number, number>> = {
  400: INTERNAL,
  401: 16,
  403: 7,
  404: 12,
  429: UNAVAILABLE,
  502: UNAVAILABLE,
  503: UNAVAILABLE,
  504: UNAVAILABLE,
}

function withoutStatus(http: number): GrpcFailure {
  return new GrpcFailure(FROM_HTTP[http] ?? UNKNOWN, http === 200 ? 'no gRPC status' : `status ${http}`)
}

function statusOf(text: string): number {
  return /^\d{1,2}$/.test(text) ? Number(text) : UNKNOWN
}

/** Percent-decoded; returned as is if malformed. */
function decoded(message: string): string {
  try {
    return decodeURIComponent(message)
  } catch {
    return message
  }
}
