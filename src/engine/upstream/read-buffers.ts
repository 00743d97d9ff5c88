/** bytes of a read that is copied: large bodies leave it soon, and what was read there becomes garbage. */
const SHARED = 16 * 1024
/** bytes of memory that is handed over. */
export const SMALL = 64 * 1024
/** A megabyte in such pieces costs four reads and four writes instead of seventeen of each. */
export const LARGE = 512 * 1024
/** 8 MB of each kind: what is not needed for long belongs to the garbage collector. */
const FREE_SMALL = 128
const FREE_LARGE = 16
/** Connections that use large pieces at a time. A slow receiver holds two of them, so this bounds what all can hold. */
const LARGE_USERS = 32

/** The memory that sockets read into. */
export class ReadBuffers {
  /** For reads that are copied before anything else is read: one for all connections. */
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

  /** Gives `buffer` back when called; a second call does nothing. */
  release(buffer: Buffer): () => void {
    let given = false
    return () => {
      if (given) return
      given = true
      this.put(buffer)
    }
  }

  /** Whether a connection may take large pieces from now until `leaveLarge`. */
  enterLarge(): boolean {
    if (this.#largeUsers >= LARGE_USERS) return false
    this.#largeUsers++
    return true
  }

  leaveLarge(): void {
    this.#largeUsers--
  }
}
