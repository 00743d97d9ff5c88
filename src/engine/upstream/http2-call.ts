import { type ClientHttp2Stream, constants } from 'node:http2'
import { Readable } from 'node:stream'
import { GatewayError } from '../../http/errors.ts'
import { HeaderList } from '../../http/headers.ts'
import { type Http2Fields, http2Fields } from '../../http/http2-fields.ts'
import { resetStream } from '../../http/http2-reset.ts'
import { passOn } from '../../http/incoming-body.ts'
import { TrailingBody } from '../../http/trailing-body.ts'
import type { ChunkSink, UpstreamRequest } from '../../http/transport.ts'
import { joinSmallFrames } from '../join-small-frames.ts'
import { trailersOf } from './body-sender.ts'
import { bodyFailure, callFailure, protocolFailure, requestFailure } from './failure.ts'
import { fieldKind } from './hop-by-hop.ts'
import { checkField } from './http1-request.ts'
import type { Http2Connection } from './http2-connection.ts'

/** Receives the outcome of a call: `head` at most once, then exactly one of the others. */
export interface Http2Caller {
  head(status: number, headers: HeaderList): ChunkSink
  ended(): void
  /** No head arrived. `unprocessed`: the server has not processed the request, so it can be retried. */
  failed(error: Error, unprocessed: boolean): void
}

/** One request and its response on an HTTP/2 stream. */
export class Http2Call {
  readonly #caller: Http2Caller
  readonly #stream: ClientHttp2Stream | undefined
  readonly #body: Readable | undefined
  #sink: ChunkSink | undefined
  #trailers: readonly string[] | undefined
  #sent = false
  #complete = false
  #over = false
  #error: Error | undefined

  constructor(connection: Http2Connection, request: UpstreamRequest, caller: Http2Caller) {
    this.#caller = caller
    const { body } = request
    const streamed = body instanceof Readable
    this.#body = streamed ? body : undefined
    try {
      this.#stream = connection.request(requestFields(request, connection.scheme), {
        endStream: body === undefined,
        waitForTrailers: body instanceof TrailingBody,
      })
    } catch (error) {
      const failure =
        error instanceof GatewayError
          ? error
          : requestFailure(error instanceof Error && 'code' in error ? String(error.code) : 'invalid request')
      process.nextTick(() => this.#fail(failure))
      return
    }
    this.#listen(this.#stream)
    if (body instanceof TrailingBody) this.#stream.once('wantTrailers', this.#sendTrailers)
    if (streamed) this.#pump(this.#stream, body)
    else {
      this.#sent = true
      if (body !== undefined) this.#stream.end(body)
    }
  }

  cancel(): void {
    if (this.#over) return
    this.#stop()
    if (this.#stream) resetStream(this.#stream, constants.NGHTTP2_CANCEL)
  }

  #listen(stream: ClientHttp2Stream): void {
    stream.on('response', (_fields, _flags, ...rest: unknown[]) => this.#onHead(stream, rest[0] as string[]))
    stream.on('trailers', (_fields, _flags, ...rest: unknown[]) => {
      this.#trailers = rest[0] as string[]
    })
    stream.on('error', error => {
      this.#error = error
    })
    // Node ends a truncated response like a complete one; only a complete one ends before the stream closes.
    joinSmallFrames(stream)
    const { push } = stream
    stream.push = (chunk: unknown) => {
      if (chunk === null && !stream.closed) this.#complete = true
      return push.call(stream, chunk)
    }
    // Some systems report trailers after the end of the body.
    stream.on('end', () => {
      if (!this.#complete) return
      if (this.#trailers) this.#finish()
      else setImmediate(() => this.#finish())
    })
    stream.on('close', () => {
      if (this.#complete && stream.rstCode === constants.NGHTTP2_NO_ERROR) this.#finish()
      else this.#onBroken(stream)
    })
  }

  #onHead(stream: ClientHttp2Stream, raw: readonly string[]): void {
    if (this.#over) return
    const { status, fields } = responseFields(raw)
    const sink = this.#caller.head(status, new HeaderList(fields, true))
    this.#sink = sink
    stream.on('data', (chunk: Buffer) => {
      if (this.#over || sink.write(chunk)) return
      stream.pause()
      sink.onDrain(() => stream.resume())
    })
  }

  #onBroken(stream: ClientHttp2Stream): void {
    const code = stream.rstCode
    const refused = code === constants.NGHTTP2_REFUSED_STREAM
    const failure =
      code === constants.NGHTTP2_PROTOCOL_ERROR
        ? protocolFailure('HTTP/2')
        : callFailure(this.#error !== undefined && !isReset(this.#error) ? this.#error : reset(code))
    this.#fail(failure, refused)
  }

  #finish(): void {
    if (this.#over) return
    this.#stop()
    // A server that has responded in full no longer needs the rest of the request.
    if (!this.#sent && this.#stream) resetStream(this.#stream, constants.NGHTTP2_CANCEL)
    this.#caller.ended()
    this.#sink?.end(this.#trailers)
  }

  #fail(error: Error, unprocessed = false): void {
    if (this.#over) return
    this.#stop()
    if (this.#stream) resetStream(this.#stream, constants.NGHTTP2_CANCEL)
    if (this.#sink) {
      this.#caller.ended()
      this.#sink.fail(error)
    } else this.#caller.failed(error, unprocessed)
  }

  #stop(): void {
    this.#over = true
    const body = this.#body
    if (!body || this.#sent) return
    body.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onBodyGone)
    // Its owner handles the rest; a late error must not crash the process.
    body.pause()
  }

  #pump(stream: ClientHttp2Stream, body: Readable): void {
    body.on('error', this.#onBodyGone)
    if (body.readableEnded) this.#onEnd()
    else if (body.destroyed) process.nextTick(this.#onBodyGone)
    else {
      stream.on('drain', () => {
        if (!this.#over) body.resume()
      })
      body.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onBodyGone).resume()
    }
  }

  #onData = (chunk: Buffer): void => {
    const [stream, body] = [this.#stream, this.#body]
    if (stream && body && !passOn(body, chunk, stream)) body.pause()
  }
  #onEnd = (): void => {
    this.#sent = true
    this.#stream?.end()
  }
  #sendTrailers = (): void => {
    try {
      this.#stream?.sendTrailers(http2Fields({}, trailersOf(this.#body)))
    } catch (error) {
      this.#fail(error as Error)
    }
  }
  #onBodyGone = (error?: Error): void => {
    if (!this.#sent) this.#fail(bodyFailure(error))
  }
}

function requestFields(request: UpstreamRequest, scheme: 'http' | 'https'): Http2Fields {
  const { method, path, authority, headers, body } = request
  const kept: string[] = []
  const { raw } = headers
  for (let i = 0; i < raw.length; i += 2) {
    const kind = fieldKind(raw[i]!)
    if (kind !== 'keep' && !(kind === 'content-length' && body instanceof Readable)) continue
    checkField(raw[i]!, raw[i + 1]!)
    kept.push(raw[i]!, raw[i + 1]!)
  }
  const fields = http2Fields({ ':method': method, ':scheme': scheme, ':authority': authority, ':path': path }, kept)
  if (Buffer.isBuffer(body)) fields['content-length'] = String(body.length)
  return fields
}

function responseFields(raw: readonly string[]): { status: number; fields: string[] } {
  const fields: string[] = []
  let status = 0
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    if (name === ':status') status = Number(raw[i + 1])
    else if (!name.startsWith(':')) fields.push(name, raw[i + 1]!)
  }
  return { status, fields }
}

function isReset(error: Error): boolean {
  return 'code' in error && error.code === 'ERR_HTTP2_STREAM_ERROR'
}

function reset(code: number | undefined): GatewayError {
  const detail = code === constants.NGHTTP2_NO_ERROR ? 'connection closed' : 'stream reset'
  return new GatewayError('upstreamFailed', { detail, retryable: true })
}
