import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Exchange } from '../../http/exchange.ts'
import type { ChunkSink } from '../../http/transport.ts'
import type { Downstream } from '../downstream.ts'

/** The client side over a `node:http` response, for a request handed over by another worker. */
export class SocketDownstream implements Downstream, ChunkSink {
  state: Downstream['state'] = 'waiting'
  readonly #res: ServerResponse
  readonly #x: Exchange

  constructor(res: ServerResponse, x: Exchange) {
    this.#res = res
    this.#x = x
  }

  reply(status: number, headers: readonly string[], body: Buffer | string | undefined): void {
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    const fields =
      hasField(headers, 'content-length') || bodyless(status) ? headers : [...headers, 'content-length', String(length)]
    this.#head(status, fields)
    this.#x.responseBytes += length
    this.state = 'ended'
    this.#res.end(body)
  }

  start(status: number, headers: readonly string[]): ChunkSink {
    this.#head(status, headers)
    this.state = 'streaming'
    // Otherwise the head of a stream would wait for its first event.
    if (!hasField(headers, 'content-length')) this.#res.flushHeaders()
    return this
  }

  write(chunk: Buffer, release?: () => void): boolean {
    if (this.state === 'ended') return true
    this.#x.responseBytes += chunk.length
    if (!release) return this.#res.write(chunk)
    return this.#res.write(chunk, error => {
      if (!error) release()
    })
  }

  end(trailers?: readonly string[]): void {
    if (this.state === 'ended') return
    this.state = 'ended'
    if (trailers && trailers.length > 0) {
      if (this.#x.response) this.#x.response.trailers = trailers
      this.#res.addTrailers(pairs(trailers))
    }
    this.#res.end()
  }

  fail(error: Error): void {
    this.#x.error ??= error.message
    this.cut()
  }

  onDrain(then: () => void): void {
    this.#res.removeAllListeners('drain')
    this.#res.on('drain', then)
  }

  /** Never reached: upgrades are not handed over. */
  upgrade(_status: number, _headers: readonly string[], upstream: Duplex): void {
    upstream.destroy()
    this.cut()
  }

  cut(): void {
    this.state = 'ended'
    this.#res.destroy()
  }

  #head(status: number, headers: readonly string[]): void {
    const res = this.#res
    if (hasField(headers, 'date')) res.sendDate = false
    res.writeHead(status, headers as string[])
  }
}

function hasField(headers: readonly string[], name: string): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    const field = headers[i]!
    if (field.length === name.length && field.toLowerCase() === name) return true
  }
  return false
}

function bodyless(status: number): boolean {
  return status === 204 || status === 304 || status < 200
}

function pairs(flat: readonly string[]): [string, string][] {
  const out: [string, string][] = []
  for (let i = 0; i < flat.length; i += 2) out.push([flat[i]!, flat[i + 1]!])
  return out
}
