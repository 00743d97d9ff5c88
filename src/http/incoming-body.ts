import { Readable, type Writable } from 'node:stream'

/** The body of a request that does not come at once: filled by its connection, no faster than it is read. */
export class IncomingBody extends Readable {
  readonly #more: () => void
  /** The memory of what was put back by somebody who may still look at it. */
  #kept: ArrayBufferLike | undefined

  /** `more` asks for further bytes. */
  constructor(more: () => void) {
    super({ highWaterMark: 64 * 1024 })
    this.#more = more
    // Whoever reads listens too; an error that comes when nobody does must not end the process.
    this.on('error', () => {})
  }

  override _read(): void {
    this.#more()
  }

  /**
   * Frees the memory of a chunk that has been sent: V8 collects its whole heap for every 64 MB that sockets have read. A
   * part of a larger piece stays, since others may have the rest.
   */
  free(chunk: Buffer): void {
    const { buffer } = chunk
    const whole = chunk.byteLength === buffer.byteLength
    if (whole && buffer !== this.#kept && buffer instanceof ArrayBuffer) buffer.transfer(0)
  }

  override unshift(chunk: Buffer): void {
    this.#kept = chunk.buffer
    super.unshift(chunk)
  }
}

/** Writes a chunk of `body` to `to`, whose answer it returns, and frees its memory when it has gone. */
export function passOn(body: Readable, chunk: Buffer, to: Writable): boolean {
  if (!(body instanceof IncomingBody)) return to.write(chunk)
  return to.write(chunk, error => {
    if (!error) body.free(chunk)
  })
}
