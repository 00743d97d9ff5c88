import { Readable } from 'node:stream'
import type { BodySource } from '../../../http/exchange.ts'
import { immediate } from './mutations.ts'
import { failed, type ServiceStream } from './service-stream.ts'

/** bytes of one message of a body. */
export const LARGEST_CHUNK = 64 * 1024
/** bytes that a service may send ahead of whoever reads them. */
export const FARTHEST_AHEAD = 4 * 1024 * 1024

/** What a service makes of a request body while it comes; read as any other stream. */
export class ProcessedBody extends Readable {
  readonly #stream: ServiceStream
  #wanted = (): void => {}
  #complete = false

  constructor(stream: ServiceStream) {
    super({ highWaterMark: LARGEST_CHUNK })
    this.#stream = stream
    // Whoever reads listens too; an error that comes when nobody does must not end the process.
    this.on('error', () => {})
  }

  /**
   * Sends `body` to the service, as fast as it takes it and as what comes back is read. `began` runs before the first of
   * it is read; until then the body is as it was.
   */
  async feed(body: BodySource, began: () => void): Promise<void> {
    this.#listen(false)
    try {
      await this.#stream.begun()
      began()
      const from = body.take()
      for await (const chunk of chunksOf(from)) {
        if (this.#complete || this.destroyed) break
        for (let at = 0; at < chunk.length; at += LARGEST_CHUNK) {
          const part = chunk.subarray(at, at + LARGEST_CHUNK)
          const room = this.#stream.send({ requestBody: { body: part, endOfStream: false } })
          if (!room) await new Promise<void>(resolve => this.#stream.onDrain(resolve))
        }
        if (this.readableLength >= LARGEST_CHUNK) await new Promise<void>(resolve => (this.#wanted = resolve))
      }
    } catch (error) {
      this.destroy(error as Error)
      return
    }
    if (this.#complete || this.destroyed) return
    this.#listen(true)
    this.#stream.send({ requestBody: { body: new Uint8Array(), endOfStream: true } })
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
          if (this.readableLength > FARTHEST_AHEAD) this.destroy(failed('too much of a body'))
          if (!endOfStream) return room
          this.#complete = true
          this.#stream.unlisten('requestBody')
          this.push(null)
          return true
        },
        fail: error => this.destroy(error),
      },
      owed,
    )
  }
}

async function* chunksOf(from: Buffer | Readable | undefined): AsyncGenerator<Buffer> {
  if (from === undefined) return
  if (Buffer.isBuffer(from)) yield from
  else for await (const chunk of from) yield chunk as Buffer
}
