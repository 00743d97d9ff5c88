import { GatewayError } from '../../http/errors.ts'
import { type ChunkSink, discard, handlerAround, type ResponseHandler } from '../../http/transport.ts'
import type { Clock, Timer } from '../../runtime/runtime.ts'

/** ms that a reply may stall where the file has no time limit; as long as the providers' own SDKs wait. */
export const STALL_LIMIT = 600_000

/** Fails a response of which nothing has come for `limit` ms, as long as somebody takes what comes. */
export function watchStall(limit: number, clock: Clock, cancel: () => void, on: ResponseHandler): ResponseHandler {
  return handlerAround(on, {
    head: (status, headers) => {
      const client = on.head(status, headers)
      return client === discard ? client : new WatchedSink(limit, clock, cancel, client)
    },
  })
}

class WatchedSink implements ChunkSink {
  readonly #limit: number
  readonly #clock: Clock
  readonly #cancel: () => void
  readonly #client: ChunkSink
  #timer: Timer | undefined
  /** Of the last chunk, monotonic ms. */
  #heard: number
  /** The client takes nothing at the moment: the provider is made to wait. */
  #full = false
  #over = false

  constructor(limit: number, clock: Clock, cancel: () => void, client: ChunkSink) {
    this.#limit = limit
    this.#clock = clock
    this.#cancel = cancel
    this.#client = client
    this.#heard = clock.mono()
    this.#wait(limit)
  }

  write(chunk: Buffer, release?: () => void): boolean {
    if (this.#over) return true
    this.#heard = this.#clock.mono()
    const room = this.#client.write(chunk, release)
    this.#full = !room
    return room
  }

  end(trailers?: readonly string[]): void {
    if (this.#finish()) this.#client.end(trailers)
  }

  fail(error: Error): void {
    if (this.#finish()) this.#client.fail(error)
  }

  onDrain(then: () => void): void {
    this.#client.onDrain(() => {
      this.#full = false
      this.#heard = this.#clock.mono()
      then()
    })
  }

  /** One timer for many chunks: it looks again after what is left. */
  #wait(ms: number): void {
    this.#timer = this.#clock.after(ms, () => {
      if (this.#over) return
      const left = this.#full ? this.#limit : this.#heard + this.#limit - this.#clock.mono()
      if (left > 0) {
        this.#wait(left)
        return
      }
      this.#cancel()
      this.fail(new GatewayError('upstreamTimeout', { retryable: true }))
    })
  }

  #finish(): boolean {
    if (this.#over) return false
    this.#over = true
    this.#timer?.cancel()
    return true
  }
}
