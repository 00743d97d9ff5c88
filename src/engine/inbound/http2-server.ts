import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { GatewayError } from '../../http/errors.ts'
import { SocketBody } from '../../http/socket-body.ts'
import type { FrontendSettings } from '../../policies/policy.ts'
import { Deadlines, Timed } from '../upstream/deadlines.ts'
import type { Connection } from './connection.ts'
import { readHttp2Head, UNSERVED_PROTOCOL } from './http2-head.ts'
import { CLOSING, Http2Pings } from './http2-pings.ts'
import { joinSmallFrames } from './join-small-frames.ts'
import type { Look } from './prelude.ts'
import { exchangeFor, type ListenerHost, serveExchange } from './serve-exchange.ts'
import { StreamDownstream } from './stream-downstream.ts'

/** Concurrent streams per client. */
const MAX_STREAMS = 200
/** Fields per request head; their bytes are limited by `maxHeaderSize`. */
const MAX_FIELDS = 1000
/**
 * Node silently resets the stream of a head above its limit. That limit is set to this multiple of what is served, so
 * that such a head gets a reply and a record; larger ones are reset.
 */
const READ_FACTOR = 4
/** NGHTTP2_ERR_PROTO. */
const PROTOCOL_ERROR = -505
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** Whether a plaintext connection starts with HTTP/2 (prior knowledge, RFC 9113 section 3.3). */
export function readPreface(bytes: Buffer): Look<'1' | '2'> {
  const length = Math.min(bytes.length, PREFACE.length)
  if (bytes.compare(PREFACE, 0, length, 0, length) !== 0) return HTTP_1
  return length === PREFACE.length ? HTTP_2 : 'more'
}
const HTTP_1 = { value: '1', consumed: 0 } as const
const HTTP_2 = { value: '2', consumed: 0 } as const

/** HTTP/2 on sockets accepted elsewhere, in plaintext or with TLS terminated. */
export class Http2Server {
  readonly #host: ListenerHost
  readonly #sessions = new Map<ServerHttp2Session, Http2Pings>()
  readonly #deadlines: Deadlines

  constructor(host: ListenerHost) {
    this.#host = host
    this.#deadlines = new Deadlines(host.runtime.clock)
  }

  accept(socket: Socket, connection: Connection): void {
    const { http1, http2 } = this.#host.bind().frontend
    // HTTP/2 ends a connection as a whole; otherwise the open half would stay forever.
    socket.allowHalfOpen = false
    const session = performServerHandshake(socket, sessionOptions(http2))
    let greeted = false
    session.once('remoteSettings', () => {
      greeted = true
    })
    session.on('error', (error: NodeJS.ErrnoException) => this.#failed(error, connection, greeted))
    session.setLocalWindowSize(Math.max(http2.connectionWindowSize, 65_535))
    const { keepaliveInterval: interval, keepaliveTimeout: timeout } = http2
    const pings = new Http2Pings(
      session,
      socket,
      this.#host.runtime.clock,
      interval > 0 ? { interval, timeout } : CLOSING,
    )
    if (interval > 0) pings.start()
    this.#sessions.set(session, pings)
    connection.retire = () => pings.closeSession()
    const idle = new Idle(this.#deadlines, http1.idleTimeout, connection.retire)
    session.on('stream', (stream, _headers, flags, raw) => {
      idle.begin()
      const ended = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
      const serving = this.#serve(stream, raw, ended, connection)
      stream.on('close', () => {
        idle.settle()
        serving.finish()
      })
    })
    session.once('close', () => {
      idle.end()
      this.#sessions.delete(session)
    })
  }

  /** Sends GOAWAY; connections end with their last stream. */
  stop(): void {
    for (const pings of this.#sessions.values()) pings.closeSession()
  }

  destroy(): void {
    for (const session of this.#sessions.keys()) session.destroy()
    this.#deadlines.close()
  }

  /**
   * A disconnect is not logged; a protocol error is, once per connection. The farewell of grpc-go (GOAWAY with the
   * highest stream id) is a protocol error too, so for a client that completed the preface such errors are logged at
   * debug level; each of its requests has its own record.
   */
  #failed({ code, errno, message }: NodeJS.ErrnoException, { facts }: Connection, greeted: boolean): void {
    if (code !== 'ERR_HTTP2_ERROR' && code !== 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES') return
    this.#host.runtime.log.log(greeted && errno === PROTOCOL_ERROR ? 'debug' : 'warn', 'connection ended', {
      reason: `HTTP/2: ${message}`,
      'connection.id': facts.id,
      'src.addr': `${facts.address}:${facts.port}`,
    })
  }

  #serve(
    stream: ServerHttp2Stream,
    raw: readonly string[],
    ended: boolean,
    connection: Connection,
  ): { finish(): void } {
    const host = this.#host
    const { head, length, waits, upgrade, problem } = readHttp2Head(raw, connection.facts.tls !== undefined)
    const body = new SocketBody(
      stream,
      ended || upgrade !== undefined ? 0 : length,
      host.runtime,
      waits
        ? () => {
            if (!stream.headersSent && !stream.closed) stream.additionalHeaders({ ':status': 100 })
          }
        : undefined,
    )
    const x = exchangeFor({ connection, httpVersion: '2.0', head, body, upgrade }, host)
    const out = new StreamDownstream(stream, x, ended)
    // The reason is in `close`; without a listener an error would crash the process.
    stream.on('error', ignore)
    if (!ended) {
      joinSmallFrames(stream)
      stream.on('aborted', breakBody).on('trailers', (_fields, _flags, ...rest: unknown[]) => {
        body.trailers = rest[0] as string[]
      })
    }
    const { maxHeaderSize } = host.bind().frontend.http2
    const refusal = isTooLarge(raw, maxHeaderSize) ? new GatewayError('headersTooLarge') : problem && refusalOf(problem)
    return serveExchange(x, out, host, refusal || undefined)
  }
}

function ignore(): void {}

/**
 * Closes a connection without open streams, as for HTTP/1. `session.setTimeout` will not do: Node leaves its timer
 * running when the session ends, which keeps the session in memory.
 */
class Idle extends Timed {
  readonly #deadlines: Deadlines
  /** ms; 0 for none. */
  readonly #time: number
  readonly #close: () => void
  #streams = 0
  #over = false

  constructor(deadlines: Deadlines, time: number, close: () => void) {
    super()
    this.#deadlines = deadlines
    this.#time = time
    this.#close = close
    this.#wait()
  }

  begin(): void {
    this.#streams++
    this.#deadlines.disarm(this)
  }

  settle(): void {
    this.#streams--
    if (this.#streams === 0) this.#wait()
  }

  end(): void {
    this.#over = true
    this.#deadlines.disarm(this)
  }

  override expire(): void {
    this.#close()
  }

  #wait(): void {
    if (this.#time > 0 && !this.#over) this.#deadlines.arm(this, this.#time)
  }
}

/** RFC 9113 section 6.5.2: each field counts 32 bytes extra. */
function isTooLarge(raw: readonly string[], limit: number): boolean {
  if (raw.length > 2 * MAX_FIELDS) return true
  let size = 16 * raw.length
  for (const text of raw) size += text.length
  return size > limit
}

/** RFC 9220 section 3 defines the status for unsupported protocols. */
function refusalOf(problem: string): GatewayError {
  return problem === UNSERVED_PROTOCOL
    ? new GatewayError('invalidRequest', { status: 501, detail: 'protocol not supported' })
    : new GatewayError('invalidRequest')
}

/** Node ends a truncated body like a complete one; readers must not see that end. */
function breakBody(this: ServerHttp2Stream): void {
  this.push = () => {
    // Deferred: the code reporting the end still uses the stream.
    process.nextTick(() => this.destroy())
    return false
  }
}

function sessionOptions({ windowSize, frameSize, maxHeaderSize }: FrontendSettings['http2']) {
  return {
    settings: {
      initialWindowSize: windowSize,
      maxFrameSize: frameSize,
      maxHeaderListSize: Math.min(READ_FACTOR * maxHeaderSize, 0xff_ff_ff_ff),
      maxConcurrentStreams: MAX_STREAMS,
      enableConnectProtocol: true,
    },
    maxHeaderListPairs: READ_FACTOR * MAX_FIELDS,
    // MB that the windows and buffers of all streams may take before new streams are refused.
    maxSessionMemory: 32,
    // A backend may repeat a field that the platform considers single-valued; it is forwarded as is.
    strictSingleValueFields: false,
  }
}
