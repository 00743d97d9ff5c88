import { Readable, type Writable } from 'node:stream'

/** A request body that does not arrive at once: filled by its connection, with back-pressure. */
export class IncomingBody extends Readable {
  readonly #more: () => void
  /** Memory of a chunk that was pushed back by a reader that may still reference it. */
  #kept: ArrayBufferLike | undefined

  /** `more` requests further bytes. */
  constructor(more: () => void) {
    super({ highWaterMark: 64 * 1024 })
    this.#more = more
    // Readers add their own listener; without one, a late error must not crash the process.
    this.on('error', () => {})
  }

  override _read(): void {
    this.#more()
  }

  /**
   * Frees a chunk's memory once it has been sent: V8 runs a full collection for every 64 MB that sockets have read.
   * Slices of a larger buffer stay, since the rest may be in use.
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

/** Writes a chunk of `body` to `to`, frees its memory once flushed, and returns what `write` returned. */
export function passOn(body: Readable, chunk: Buffer, to: Writable): boolean {
  if (!(body instanceof IncomingBody)) return to.write(chunk)
  return to.write(chunk, error => {
    if (!error) body.free(chunk)
  })
}
