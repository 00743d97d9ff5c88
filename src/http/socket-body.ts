import type { Readable } from 'node:stream'
import type { Clock, Runtime, Timer } from '../runtime/runtime.ts'
import type { BodyLimits } from './body-memory.ts'
import { bodyMemoryExhausted, GatewayError } from './errors.ts'
import { type BodyPrefix, type BodySource, prefixOf } from './exchange.ts'
import { keepChunk } from './keep-chunk.ts'

/** Dependencies of reading a body. */
export type BodyReading = Pick<Runtime, 'clock' | 'bodies'>

/** Grace period in ms before the minimum rate applies. */
const GRACE = 10_000

/**
 * A client's request body. Bytes read by an attempt that exceeded its limit are pushed back, so the next reader starts
 * at the beginning.
 */
export class SocketBody implements BodySource {
  readonly length: number | undefined
  trailers: readonly string[]
  #bytes: Buffer | undefined
  #reading: Promise<Buffer> | undefined
  /** Bytes of the last read that was abandoned. */
  #begun: Buffer | undefined
  /** Runs on the first read: the client may be waiting for a `100 Continue`. */
  #onWanted: (() => void) | undefined
  /** A buffer if it arrived together with its head. */
  readonly #from: Readable | Buffer
  readonly #reader: BodyReading
  /** Bytes accounted for in the shared limit. */
  #held = 0
  #released = false

  /** `trailers`: filled once the body has ended. */
  constructor(
    from: Readable | Buffer,
    length: number | undefined,
    reader: BodyReading,
    onWanted?: () => void,
    trailers: readonly string[] = [],
  ) {
    this.#from = from
    this.length = length
    this.#reader = reader
    this.#onWanted = onWanted
    this.trailers = trailers
    if (length === 0) this.#bytes = EMPTY
  }

  get bytes(): Buffer | undefined {
    return this.#bytes
  }

  get arrived(): Buffer | undefined {
    return Buffer.isBuffer(this.#from) ? this.#from : undefined
  }

  async buffer(limit: number): Promise<Buffer> {
    // The read in flight may have a different limit.
    if (this.#reading) await this.#reading.catch(() => {})
    if (this.#bytes) {
      if (this.#bytes.length > limit) throw tooLarge(limit)
      return this.#bytes
    }
    if (this.length !== undefined && this.length > limit) throw tooLarge(limit)
    this.#wanted()
    if (Buffer.isBuffer(this.#from)) {
      if (!this.#hold(this.#from.length)) throw bodyMemoryExhausted()
      this.#bytes = this.#from
      return this.#from
    }
    this.#reading = this.#read(this.#from, limit)
    return this.#reading.finally(() => {
      this.#begun = undefined
    })
  }

  async prefix(limit: number): Promise<BodyPrefix> {
    if (this.#reading) await this.#reading.catch(() => {})
    if (this.#bytes) return prefixOf(this.#bytes, limit)
    this.#wanted()
    if (Buffer.isBuffer(this.#from)) return prefixOf(this.#from, limit)
    try {
      this.#reading = this.#read(this.#from, limit)
      return prefixOf(await this.#reading, limit)
    } catch (error) {
      const begun = this.#begun
      this.#begun = undefined
      if (begun && error instanceof GatewayError && error.code === 'bodyTooLarge') return prefixOf(begun, limit)
      throw error
    }
  }

  replace(bytes: Buffer): void {
    this.#bytes = bytes
  }

  take(): Buffer | Readable | undefined {
    if (this.#bytes) return this.#bytes.length > 0 ? this.#bytes : undefined
    this.#wanted()
    return this.#from
  }

  release(): void {
    this.#released = true
    this.#reader.bodies.give(this.#held)
    this.#held = 0
  }

  /** Bytes counted by an abandoned read are not counted again. */
  #hold(size: number): boolean {
    const more = size - this.#held
    if (more <= 0) return true
    if (this.#released || !this.#reader.bodies.take(more)) return false
    this.#held = size
    return true
  }

  #wanted(): void {
    this.#onWanted?.()
    this.#onWanted = undefined
  }

  #read(from: Readable, limit: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let size = 0
      const patience = new Patience(this.#reader, () => {
        stop()
        from.pause()
        reject(new GatewayError('bodyTimeout', { headers: ['connection', 'close'] }))
      })
      const stop = (): void => {
        patience.cancel()
        from.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
        this.#reading = undefined
      }
      const onData = (chunk: Buffer): void => {
        keepChunk(chunks, chunk)
        size += chunk.length
        patience.read(chunk.length)
        const room = this.#hold(size)
        if (room && size <= limit) return
        stop()
        from.pause()
        if (room) {
          this.#begun = Buffer.concat(chunks, size)
          from.unshift(this.#begun)
        }
        reject(room ? tooLarge(limit) : bodyMemoryExhausted())
      }
      const onEnd = (): void => {
        stop()
        this.#bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)
        resolve(this.#bytes)
      }
      const onGone = (): void => {
        stop()
        reject(new GatewayError('bodyUnreadable', { detail: 'the client left' }))
      }
      if (from.destroyed || from.readableEnded) {
        onGone()
        return
      }
      patience.start()
      // A stream is paused after an abandoned read.
      from.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone).resume()
    })
  }
}

/**
 * The time allowed for a body: each byte earns time at the minimum rate, on top of a grace period and capped by the
 * total timeout.
 */
class Patience {
  readonly #clock: Clock
  readonly #limits: BodyLimits
  readonly #expired: () => void
  #started = 0
  #size = 0
  #timer: Timer | undefined

  constructor({ clock, bodies }: BodyReading, expired: () => void) {
    this.#clock = clock
    this.#limits = bodies.limits
    this.#expired = expired
  }

  start(): void {
    this.#started = this.#clock.mono()
    this.#wait(this.#allowed())
  }

  read(bytes: number): void {
    this.#size += bytes
  }

  cancel(): void {
    this.#timer?.cancel()
  }

  /** ms since the start. */
  #allowed(): number {
    const { timeout, minRate } = this.#limits
    const earned = minRate === 0 ? Number.POSITIVE_INFINITY : GRACE + (this.#size / minRate) * 1000
    return Math.min(earned, timeout === 0 ? Number.POSITIVE_INFINITY : timeout)
  }

  #wait(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY) return
    this.#timer = this.#clock.after(Math.ceil(ms), () => {
      const left = this.#allowed() - (this.#clock.mono() - this.#started)
      if (left > 0) this.#wait(left)
      else this.#expired()
    })
  }
}

const EMPTY = Buffer.alloc(0)

function tooLarge(limit: number): GatewayError {
  return new GatewayError('bodyTooLarge', { detail: `more than ${limit} bytes` })
}
