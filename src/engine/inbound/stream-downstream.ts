import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { Exchange } from '../../http/exchange.ts'
import { type Http2Fields, http2Fields } from '../../http/http2-fields.ts'
import { resetStream } from '../../http/http2-reset.ts'
import type { ChunkSink } from '../../http/transport.ts'
import { joinStreams } from './join-streams.ts'
import type { OpenDownstream } from './serve-exchange.ts'

/** The client side over an HTTP/2 stream. */
export class StreamDownstream implements OpenDownstream, ChunkSink {
  state: OpenDownstream['state'] = 'waiting'
  readonly #stream: ServerHttp2Stream
  readonly #x: Exchange
  /** A head held until the first byte or the end, which decides how it is sent. */
  #held: Http2Fields | undefined
  /** No body may follow the head. */
  #bodiless = false
  #trailers: readonly string[] = []
  /** Trailers are requested once the body has been sent. */
  #mayTrail = false
  #sent = false
  #whenSent: (() => void) | undefined
  /** The client sent its whole request with the head. */
  readonly #requestEnded: boolean

  constructor(stream: ServerHttp2Stream, x: Exchange, requestEnded: boolean) {
    this.#stream = stream
    this.#x = x
    this.#requestEnded = requestEnded
  }

  reply(status: number, headers: readonly string[], body: Buffer | string | undefined): void {
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    const fields = http2Fields({ ':status': String(status) }, headers)
    if (length > 0 && status !== 204 && status !== 304) fields['content-length'] ??= String(length)
    const bare = length === 0 || this.#x.received.method === 'HEAD'
    this.#respond(fields, { endStream: bare })
    this.state = 'ended'
    if (!bare && !this.#gone) {
      this.#x.responseBytes += length
      this.#stream.end(body)
    }
    this.#stopRequest()
  }

  start(status: number, headers: readonly string[]): ChunkSink {
    const fields = http2Fields({ ':status': String(status) }, headers)
    const length = fields['content-length']
    this.#bodiless = this.#x.received.method === 'HEAD' || status === 204 || status === 304 || length === '0'
    if (this.#bodiless) this.#respond(fields, { endStream: true })
    // gRPC clients treat a status in the head as final only if nothing follows.
    else if (fields['grpc-status'] !== undefined) this.#held = fields
    else this.#open(fields, length === undefined)
    this.state = 'streaming'
    return this
  }

  write(chunk: Buffer, release?: () => void): boolean {
    if (this.state === 'ended' || this.#bodiless || this.#gone) return true
    this.#flush()
    this.#x.responseBytes += chunk.length
    if (release === undefined) return this.#stream.write(chunk)
    return this.#stream.write(chunk, error => {
      if (!error) release()
    })
  }

  end(trailers: readonly string[] = []): void {
    if (this.state === 'ended') return
    this.state = 'ended'
    if (trailers.length > 0 && this.#x.response) this.#x.response.trailers = trailers
    if (this.#gone) return
    if (this.#held && trailers.length === 0) {
      this.#respond(this.#held, { endStream: true })
      this.#held = undefined
    } else if (!this.#bodiless) {
      this.#flush()
      this.#trailers = trailers
      this.#stream.end()
    }
    this.#stopRequest()
  }

  fail(error: Error): void {
    this.#x.error ??= error.message
    this.cut()
  }

  onDrain(then: () => void): void {
    this.#stream.removeAllListeners('drain')
    this.#stream.on('drain', then)
  }

  /** Accepts an extended CONNECT, which has neither a switch nor a key to accept (RFC 8441 section 5). */
  upgrade(_status: number, headers: readonly string[], upstream: Duplex): void {
    this.state = 'ended'
    if (this.#gone) {
      upstream.destroy()
      return
    }
    const fields = http2Fields({ ':status': '200' }, headers)
    delete fields['sec-websocket-accept']
    this.#respond(fields, {})
    joinStreams(this.#stream, upstream)
  }

  cut(): void {
    this.state = 'ended'
    resetStream(this.#stream, constants.NGHTTP2_INTERNAL_ERROR)
  }

  get #gone(): boolean {
    return this.#stream.destroyed || this.#stream.closed
  }

  #flush(): void {
    const held = this.#held
    this.#held = undefined
    if (held) this.#open(held, true)
  }

  /** Without a length there may be trailers, which are requested at the end. */
  #open(fields: Http2Fields, mayTrail: boolean): void {
    this.#mayTrail = mayTrail
    if (mayTrail) this.#stream.once('wantTrailers', () => this.#sendTrailers())
    this.#respond(fields, { waitForTrailers: mayTrail })
  }

  #sendTrailers(): void {
    this.#stream.sendTrailers(http2Fields({}, this.#trailers))
    this.#sent = true
    this.#whenSent?.()
  }

  #respond(fields: Http2Fields, options: { endStream?: boolean; waitForTrailers?: boolean }): void {
    if (!this.#gone) this.#stream.respond(fields, options)
  }

  /** A client still sending its request after the full reply is told to stop without an error. */
  #stopRequest(): void {
    const stream = this.#stream
    if (this.#requestEnded || stream.readableEnded || this.#gone) return
    // The end of the reply is sent first; without trailers it goes with the last bytes.
    const stop = (): void => {
      if (!this.#gone && stream.state.remoteClose !== 1) stream.close(constants.NGHTTP2_NO_ERROR)
    }
    if (this.#sent || (stream.writableFinished && !this.#mayTrail)) setImmediate(stop)
    else if (this.#mayTrail) this.#whenSent = () => setImmediate(stop)
    else stream.once('finish', () => setImmediate(stop))
  }
}
