/** Numbers per piece of memory. */
const PIECE = 1024

/**
 * Memory for counters. If shared, another thread can read it at any time without a message, even after the counting
 * thread has died.
 */
export class Cells {
  readonly #buffer: new (
    bytes: number,
  ) => ArrayBuffer | SharedArrayBuffer
  #piece: ArrayBuffer | SharedArrayBuffer | undefined
  #used = 0

  constructor(shared: boolean) {
    this.#buffer = shared ? SharedArrayBuffer : ArrayBuffer
  }

  /** So many zeros. */
  take(length: number): Float64Array {
    if (this.#piece === undefined || this.#used + length > PIECE) {
      this.#piece = new this.#buffer(Math.max(PIECE, length) * Float64Array.BYTES_PER_ELEMENT)
      this.#used = 0
    }
    const cells = new Float64Array(this.#piece, this.#used * Float64Array.BYTES_PER_ELEMENT, length)
    this.#used += length
    return cells
  }
}
