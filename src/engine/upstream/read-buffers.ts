/** Bytes of a read that is copied: large bodies soon switch to owned buffers, and what was copied becomes garbage. */
const SHARED = 16 * 1024
/** Bytes of a buffer that is handed over. */
export const SMALL = 64 * 1024
/** A megabyte in such buffers takes four reads and four writes instead of seventeen of each. */
export const LARGE = 512 * 1024
/** 8 MB of each kind; the rest is left to the garbage collector. */
const FREE_SMALL = 128
const FREE_LARGE = 16
/** Connections that use large buffers at a time. A slow receiver holds two, so this bounds the total. */
const LARGE_USERS = 32

/** The buffers that sockets read into. */
export class ReadBuffers {
  /** For reads that are copied before the next read: one for all connections. */
  readonly shared = Buffer.allocUnsafeSlow(SHARED)
  readonly #small: Buffer[] = []
  readonly #large: Buffer[] = []
  #largeUsers = 0

  take(size: typeof SMALL | typeof LARGE): Buffer {
    return (size === LARGE ? this.#large : this.#small).pop() ?? Buffer.allocUnsafeSlow(size)
  }

  put(buffer: Buffer): void {
    if (buffer.length === LARGE) {
      if (this.#large.length < FREE_LARGE) this.#large.push(buffer)
    } else if (this.#small.length < FREE_SMALL) this.#small.push(buffer)
  }

  /** Returns a function that releases `buffer`; a second call does nothing. */
  release(buffer: Buffer): () => void {
    let given = false
    return () => {
      if (given) return
      given = true
      this.put(buffer)
    }
  }

  /** Whether a connection may use large buffers from now until `leaveLarge`. */
  enterLarge(): boolean {
    if (this.#largeUsers >= LARGE_USERS) return false
    this.#largeUsers++
    return true
  }

  leaveLarge(): void {
    this.#largeUsers--
  }
}
