const SIZE = 64 * 1024
/** 16 MB: what is not needed for long belongs to the garbage collector. */
const MAX_FREE = 256

/** The memory that sockets read into. */
export class ReadBuffers {
  /** For reads that are copied before anything else is read: one for all connections. */
  readonly shared = Buffer.allocUnsafeSlow(SIZE)
  readonly #free: Buffer[] = []

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(SIZE)
  }

  put(buffer: Buffer): void {
    if (this.#free.length < MAX_FREE) this.#free.push(buffer)
  }

  /** Gives `buffer` back when called; a second call does nothing. */
  release(buffer: Buffer): () => void {
    let given = false
    return () => {
      if (given) return
      given = true
      this.put(buffer)
    }
  }
}
