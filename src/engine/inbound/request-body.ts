import type { Readable } from 'node:stream'
import { GatewayError } from '../../http/errors.ts'
import type { BodySource } from '../../http/exchange.ts'

/**
 * The body of a request that comes from a client. Bytes that were read in vain, because they became too many, go back
 * in front of the stream: whoever reads next finds the body from its beginning.
 */
export class SocketBody implements BodySource {
  readonly length: number | undefined
  #bytes: Buffer | undefined
  #reading: Promise<Buffer> | undefined
  /** Runs when somebody wants the body for the first time: the client may be waiting for a sign to send it. */
  #onWanted: (() => void) | undefined
  /** A buffer when it came together with its head. */
  readonly #from: Readable | Buffer

  constructor(from: Readable | Buffer, length: number | undefined, onWanted?: () => void) {
    this.#from = from
    this.length = length
    this.#onWanted = onWanted
    if (length === 0) this.#bytes = EMPTY
  }

  get bytes(): Buffer | undefined {
    return this.#bytes
  }

  async buffer(limit: number): Promise<Buffer> {
    // Somebody else's limit may have been another one.
    if (this.#reading) await this.#reading.catch(() => {})
    if (this.#bytes) {
      if (this.#bytes.length > limit) throw tooLarge(limit)
      return this.#bytes
    }
    if (this.length !== undefined && this.length > limit) throw tooLarge(limit)
    this.#wanted()
    if (Buffer.isBuffer(this.#from)) {
      this.#bytes = this.#from
      return this.#from
    }
    this.#reading = this.#read(this.#from, limit)
    return this.#reading
  }

  replace(bytes: Buffer): void {
    this.#bytes = bytes
  }

  take(): Buffer | Readable | undefined {
    if (this.#bytes) return this.#bytes.length > 0 ? this.#bytes : undefined
    this.#wanted()
    return this.#from
  }

  #wanted(): void {
    this.#onWanted?.()
    this.#onWanted = undefined
  }

  #read(from: Readable, limit: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let size = 0
      const stop = (): void => {
        from.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
        this.#reading = undefined
      }
      const onData = (chunk: Buffer): void => {
        chunks.push(chunk)
        size += chunk.length
        if (size <= limit) return
        stop()
        from.pause()
        from.unshift(Buffer.concat(chunks, size))
        reject(tooLarge(limit))
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
      // A stream that was read before in vain stands still.
      from.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone).resume()
    })
  }
}

const EMPTY = Buffer.alloc(0)

function tooLarge(limit: number): GatewayError {
  return new GatewayError('bodyTooLarge', { detail: `more than ${limit} bytes` })
}
