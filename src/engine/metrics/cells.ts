/** Numbers per piece of memory. */
const PIECE = 1024

/**
 * Memory for numbers that are counted. Shared, another thread reads it at any time without asking, and after the one
 * that counts has died.
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
