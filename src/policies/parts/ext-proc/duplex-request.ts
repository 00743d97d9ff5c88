import type { Readable } from 'node:stream'
import type { BodySource, Exchange } from '../../../http/exchange.ts'
import { isChangeable } from '../../../http/field-change.ts'
import { HeaderList } from '../../../http/headers.ts'
import { TrailingBody } from '../../../http/trailing-body.ts'
import type { ProcessingResponse } from '../../../protobuf/ext-proc.ts'
import { changedTrailers, headersOf, immediate } from './mutations.ts'
import { failed, type ServiceStream } from './service-stream.ts'

/** Maximum bytes of one body message. */
export const MAX_CHUNK = 64 * 1024
/** Maximum bytes that a service may send ahead of the reader. */
export const MAX_AHEAD = 4 * 1024 * 1024

/** A request body streamed through the service; read like any other stream. */
export class ProcessedBody extends TrailingBody {
  readonly #stream: ServiceStream
  readonly #sendsTrailers: () => boolean
  #wanted = (): void => {}
  #complete = false

  constructor(stream: ServiceStream, sendsTrailers: () => boolean) {
    super({ highWaterMark: MAX_CHUNK })
    this.#stream = stream
    this.#sendsTrailers = sendsTrailers
    // Readers add their own listener; without one, a late error must not crash the process.
    this.on('error', () => {})
  }

  /**
   * Streams the body of `x` to the service with back-pressure from the service and from the reader of its output.
   * `began` runs before the first read; until then the body is untouched.
   */
  async feed(x: Exchange, began: () => void): Promise<void> {
    const { body } = x
    this.#listen(false)
    try {
      await this.#stream.begun()
      began()
      const from = body.take()
      for await (const chunk of chunksOf(from)) {
        if (this.#complete || this.destroyed) break
        for (let at = 0; at < chunk.length; at += MAX_CHUNK) {
          const part = chunk.subarray(at, at + MAX_CHUNK)
          const room = this.#stream.send({ requestBody: { body: part, endOfStream: false } })
          if (!room) await new Promise<void>(resolve => this.#stream.onDrain(resolve))
        }
        if (this.readableLength >= MAX_CHUNK) await new Promise<void>(resolve => (this.#wanted = resolve))
      }
      // Some systems report trailers after the end of the body.
      if (this.#sendsTrailers() && body.length === undefined) await new Promise(setImmediate)
    } catch (error) {
      this.destroy(error as Error)
      return
    }
    if (this.#complete || this.destroyed) return
    this.#listen(true)
    const trailers = this.#sendsTrailers() ? trailersOf(x, body) : []
    if (trailers.length === 0) this.#stream.send({ requestBody: { body: new Uint8Array(), endOfStream: true } })
    else this.#askAboutTrailers(trailers)
  }

  override _read(): void {
    this.#wanted()
    this.#stream.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#wanted()
    this.#stream.resume()
    done(error)
  }

  #askAboutTrailers(trailers: readonly string[]): void {
    this.#stream.listen('requestTrailers', {
      hear: ({ requestTrailers, immediateResponse }: ProcessingResponse) => {
        if (this.#complete || this.destroyed || immediateResponse) return true
        this.trailers = changedTrailers(requestTrailers?.headerMutation, trailers)
        this.#end()
        return true
      },
      fail: () => {},
    })
    this.#stream.send({ requestTrailers: { trailers: headersOf([], new HeaderList([...trailers])) } })
  }

  #end(): void {
    this.#complete = true
    this.#stream.unlisten('requestBody')
    this.#stream.unlisten('requestTrailers')
    this.push(null)
  }

  #listen(owed: boolean): void {
    this.#stream.listen(
      'requestBody',
      {
        hear: ({ requestBody, immediateResponse }) => {
          if (this.destroyed) return true
          if (immediateResponse) {
            this.destroy(immediate(immediateResponse))
            return true
          }
          const mutation = requestBody?.response?.bodyMutation
          const { body, endOfStream } = mutation?.streamedResponse ?? { body: mutation?.body }
          const room = body && body.length > 0 ? this.push(Buffer.from(body)) : true
          if (this.readableLength > MAX_AHEAD) this.destroy(failed('too much of a body'))
          if (endOfStream) this.#end()
          return endOfStream || room
        },
        fail: error => this.destroy(error),
      },
      owed,
    )
  }
}

/** A body that passes as it is, and ends with the trailers that the service leaves. */
export class RelayedBody extends TrailingBody {
  readonly #body: BodySource
  readonly #ask: () => Promise<readonly string[]>
  #chunks: AsyncGenerator<Buffer> | undefined

  constructor(body: BodySource, ask: () => Promise<readonly string[]>) {
    super({ highWaterMark: MAX_CHUNK })
    this.#body = body
    this.#ask = ask
    this.on('error', () => {})
  }

  override _read(): void {
    void this.#next().catch((error: unknown) => this.destroy(error as Error))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    void this.#chunks?.return(undefined)
    done(error)
  }

  async #next(): Promise<void> {
    this.#chunks ??= chunksOf(this.#body.take())
    const { value, done } = await this.#chunks.next()
    if (this.destroyed) return
    if (!done) {
      this.push(value)
      return
    }
    this.trailers = await this.#ask()
    this.push(null)
  }
}

/** RFC 9110, 6.5.1: framing, routing and authentication fields are not allowed in trailers. */
const HEAD_ONLY =
  /^(?:authorization|proxy-authorization|cookie|cache-control|max-forwards|range|forwarded|(?:content|if|x-forwarded)-.*)$/

/** Policies have seen the fields of the head; a trailer must not replace any of them. */
export function trailersOf({ request }: Exchange, { trailers: raw = [] }: BodySource): readonly string[] {
  const trailers: string[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    if (!isChangeable(name) || HEAD_ONLY.test(name) || request.headers.has(name)) continue
    trailers.push(name, raw[i + 1] as string)
  }
  return trailers
}

async function* chunksOf(from: Buffer | Readable | undefined): AsyncGenerator<Buffer> {
  if (from === undefined) return
  if (Buffer.isBuffer(from)) yield from
  else for await (const chunk of from) yield chunk as Buffer
}
