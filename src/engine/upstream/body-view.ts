import { Readable } from 'node:stream'

/**
 * The body of a request for a client that destroys what it has read, or cannot send on: the stream behind it is the
 * connection of whoever waits for the reply, and stays.
 */
export class BodyView extends Readable {
  readonly #of: Readable

  constructor(of: Readable) {
    super({ highWaterMark: of.readableHighWaterMark })
    this.#of = of
    if (of.readableEnded) this.push(null)
    else if (of.destroyed) this.destroy(new Error('the request ended early'))
    else
      of.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onBroken).on('close', this.#onBroken).pause()
  }

  override _read(): void {
    this.#of.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const of = this.#of
    // Still listened to: a late error is nobody's, and must not end the process.
    of.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onBroken)
    if (!of.readableEnded) of.pause()
    done(error)
  }

  #onData = (chunk: Buffer): void => {
    if (!this.push(chunk)) this.#of.pause()
  }
  #onEnd = (): void => {
    this.push(null)
  }
  #onBroken = (error?: Error): void => {
    if (!this.#of.readableEnded) this.destroy(error ?? new Error('the request ended early'))
  }
}
