import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { Exchange } from '../http/exchange.ts'
import type { ChunkSink } from '../http/transport.ts'
import type { OpenDownstream } from './serve-exchange.ts'

/** The client's end on a stream of HTTP/2. */
export class StreamDownstream implements OpenDownstream, ChunkSink {
  state: OpenDownstream['state'] = 'waiting'
  readonly #stream: ServerHttp2Stream
  readonly #x: Exchange
  /** A head that waits for its first byte or its end: which of them comes decides how it is sent. */
  #held: string[] | undefined
  /** No body may follow the head. */
  #bodiless = false
  #trailers: readonly string[] = []

  constructor(stream: ServerHttp2Stream, x: Exchange) {
    this.#stream = stream
    this.#x = x
  }

  reply(status: number, headers: readonly string[], body: Buffer | string | undefined): void {
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    const fields = wireFields(status, headers)
    if (status !== 204 && status !== 304 && !fields.includes('content-length'))
      fields.push('content-length', String(length))
    const bare = length === 0 || this.#x.received.method === 'HEAD'
    this.#respond(fields, { endStream: bare })
    this.#x.responseBytes += length
    this.state = 'ended'
    if (!bare && !this.#gone) this.#stream.end(body)
    this.#stopRequest()
  }

  start(status: number, headers: readonly string[]): ChunkSink {
    const fields = wireFields(status, headers)
    const length = fieldOf(fields, 'content-length')
    this.#bodiless = this.#x.received.method === 'HEAD' || status === 204 || status === 304 || length === '0'
    if (this.#bodiless) this.#respond(fields, { endStream: true })
    // gRPC clients take a status in the head for final only when nothing follows it.
    else if (fieldOf(fields, 'grpc-status') !== undefined) this.#held = fields
    else this.#open(fields, length === undefined)
    this.state = 'streaming'
    return this
  }

  write(chunk: Buffer): boolean {
    if (this.state === 'ended' || this.#bodiless || this.#gone) return true
    this.#flush()
    this.#x.responseBytes += chunk.length
    return this.#stream.write(chunk)
  }

  end(trailers: readonly string[] = []): void {
    if (this.state === 'ended') return
    this.state = 'ended'
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

  /** Upgrades belong to HTTP/1. */
  upgrade(_status: number, _headers: readonly string[], upstream: Duplex): void {
    upstream.destroy()
    this.cut()
  }

  cut(): void {
    this.state = 'ended'
    if (!this.#gone) this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }

  get #gone(): boolean {
    return this.#stream.destroyed || this.#stream.closed
  }

  #flush(): void {
    const held = this.#held
    this.#held = undefined
    if (held) this.#open(held, true)
  }

  /** Without a length there may be trailers, which are asked for at the end. */
  #open(fields: string[], waitForTrailers: boolean): void {
    if (waitForTrailers) this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(asObject(this.#trailers)))
    this.#respond(fields, { waitForTrailers })
  }

  #respond(fields: string[], options: { endStream?: boolean; waitForTrailers?: boolean }): void {
    if (!this.#gone) this.#stream.respond(fields as unknown as Parameters<ServerHttp2Stream['respond']>[0], options)
  }

  /** A client that is still sending its request when it has the whole reply is told to stop, not that it failed. */
  #stopRequest(): void {
    const stream = this.#stream
    if (stream.readableEnded || this.#gone) return
    const stop = (): void => {
      if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
    }
    if (stream.writableFinished) setImmediate(stop)
    else stream.once('finish', () => setImmediate(stop))
  }
}

/** Fields that mean something to one connection only; HTTP/2 forbids them (RFC 9113 section 8.2.2). */
const CONNECTION_FIELDS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
])

function wireFields(status: number, headers: readonly string[]): string[] {
  const fields: string[] = [':status', String(status)]
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (!CONNECTION_FIELDS.has(name) && !name.startsWith(':')) fields.push(name, headers[i + 1]!)
  }
  return fields
}

function fieldOf(fields: readonly string[], name: string): string | undefined {
  for (let i = 0; i < fields.length; i += 2) if (fields[i] === name) return fields[i + 1]
  return undefined
}

function asObject(trailers: readonly string[]): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {}
  for (let i = 0; i < trailers.length; i += 2) {
    const name = trailers[i]!.toLowerCase()
    if (CONNECTION_FIELDS.has(name) || name.startsWith(':')) continue
    const before = out[name]
    const value = trailers[i + 1]!
    out[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value]
  }
  return out
}
