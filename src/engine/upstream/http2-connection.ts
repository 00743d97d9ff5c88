import { type ClientHttp2Session, type ClientHttp2Stream, type ClientSessionRequestOptions, connect } from 'node:http2'
import type { Socket } from 'node:net'
import type { Http2Fields } from '../../http/http2-fields.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { CLOSING, Http2Pings } from '../http2-pings.ts'

/** Streams per connection before another one is opened, even if the server allows more. */
const MAX_STREAMS = 100
/** Bytes that a server may send unread on one stream, and on all of them. */
const STREAM_WINDOW = 256 * 1024
const CONNECTION_WINDOW = 4 * 1024 * 1024
/** Maximum bytes of a response head. */
const HEAD_LIMIT = 64 * 1024

/** One connection and the calls on it. */
export class Http2Connection {
  readonly #session: ClientHttp2Session
  readonly #pings: Http2Pings
  readonly scheme: 'http' | 'https'
  calls = 0
  /** Runs when a call starts or ends, and when the connection has ended. */
  onChange: () => void = () => {}
  #retired = false

  constructor(socket: Socket, secure: boolean, clock: Clock) {
    this.scheme = secure ? 'https' : 'http'
    this.#session = connect(`${this.scheme}://upstream.invalid`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW, maxHeaderListSize: HEAD_LIMIT },
      maxSessionMemory: 64,
      strictSingleValueFields: false,
    } as Parameters<typeof connect>[1])
    this.#session.once('connect', () => this.#session.setLocalWindowSize(CONNECTION_WINDOW))
    this.#pings = new Http2Pings(this.#session, socket, clock, CLOSING)
    // Each call reports the error itself.
    this.#session.on('error', () => {})
    this.#session.once('goaway', () => {
      this.#retired = true
    })
    this.#session.once('close', () => {
      this.#retired = true
      this.onChange()
    })
  }

  get closed(): boolean {
    return this.#session.destroyed
  }

  /** It can take another call. */
  get takes(): boolean {
    if (this.#retired || this.#session.closed || this.#session.destroyed) return false
    return this.calls < Math.min(MAX_STREAMS, this.#session.remoteSettings?.maxConcurrentStreams ?? MAX_STREAMS)
  }

  /** Throws when a field cannot be sent. */
  request(fields: Http2Fields, options: ClientSessionRequestOptions): ClientHttp2Stream {
    const stream = this.#session.request(fields, options)
    this.calls++
    this.onChange()
    stream.once('close', () => {
      this.calls--
      this.onChange()
    })
    return stream
  }

  /** Closes after its last call. */
  retire(): void {
    this.#retired = true
    this.#pings.closeSession()
  }

  destroy(error: Error): void {
    this.#retired = true
    this.#session.destroy(error)
  }
}
