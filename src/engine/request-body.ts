import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { GatewayError } from '../http/errors.ts'
import type { BodySource } from '../http/exchange.ts'

/** The body of a request on a socket. What was read in vain (it was too large to hold) is still sent on first. */
export class SocketBody implements BodySource {
  readonly length: number | undefined
  #bytes: Buffer | undefined
  #prefix: Buffer[] = []
  #reading: Promise<Buffer> | undefined
  readonly #from: IncomingMessage

  constructor(from: IncomingMessage, length: number | undefined) {
    this.#from = from
    this.length = length
    if (length === 0) this.#bytes = EMPTY
  }

  get bytes(): Buffer | undefined {
    return this.#bytes
  }

  buffer(limit: number): Promise<Buffer> {
    if (this.#bytes) return this.#bytes.length <= limit ? Promise.resolve(this.#bytes) : Promise.reject(tooLarge(limit))
    if (this.length !== undefined && this.length > limit) return Promise.reject(tooLarge(limit))
    this.#reading ??= this.#read(limit)
    return this.#reading
  }

  replace(bytes: Buffer): void {
    this.#bytes = bytes
  }

  take(): Buffer | Readable | undefined {
    if (this.#bytes) return this.#bytes.length > 0 ? this.#bytes : undefined
    if (this.#prefix.length === 0) return this.#from
    const prefix = this.#prefix
    const rest = this.#from
    this.#prefix = []
    return Readable.from(
      (async function* () {
        yield* prefix
        yield* rest
      })(),
    )
  }

  #read(limit: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const from = this.#from
      let size = 0
      const stop = (): void => {
        from.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
        this.#reading = undefined
      }
      const onData = (chunk: Buffer): void => {
        this.#prefix.push(chunk)
        size += chunk.length
        if (size <= limit) return
        stop()
        from.pause()
        reject(tooLarge(limit))
      }
      const onEnd = (): void => {
        stop()
        this.#bytes = this.#prefix.length === 1 ? this.#prefix[0]! : Buffer.concat(this.#prefix, size)
        this.#prefix = []
        resolve(this.#bytes)
      }
      const onGone = (): void => {
        stop()
        reject(new GatewayError('bodyUnreadable', { detail: 'the client left' }))
      }
      from.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
    })
  }
}

const EMPTY = Buffer.alloc(0)

function tooLarge(limit: number): GatewayError {
  return new GatewayError('bodyTooLarge', { detail: `more than ${limit} bytes` })
}
