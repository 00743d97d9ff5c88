/** Limits on bodies that are buffered whole, whatever the reason. */
export interface BodyLimits {
  /** Total bytes buffered across all requests. */
  readonly total: number
  /** Maximum ms to read one body; 0 for no limit. */
  readonly timeout: number
  /** Minimum average bytes per second of a request body, after a grace period; 0 for no minimum. */
  readonly minRate: number
}

/**
 * Bytes of fully buffered bodies across all requests of the replica, and their limit. Bytes are counted as they arrive,
 * so an announced length alone reserves nothing.
 */
export class BodyMemory {
  /** From the configuration in force. */
  limits: BodyLimits = { total: Number.POSITIVE_INFINITY, timeout: 0, minRate: 0 }
  readonly #shares: BigInt64Array | undefined
  readonly #index: number
  #own = 0

  /** `shares` has one slot per worker of the replica, this one's at `index`; unset with a single worker. */
  constructor(shares?: BigInt64Array, index = 0) {
    this.#shares = shares
    this.#index = index
  }

  /** Bytes held by this worker. */
  get own(): number {
    return this.#own
  }

  /** Bytes held by all workers. */
  get held(): number {
    const shares = this.#shares
    if (shares === undefined) return this.#own
    let all = 0
    for (let i = 0; i < shares.length; i++) all += Number(Atomics.load(shares, i))
    return all
  }

  /** False, reserving nothing, if the limit would be exceeded. */
  take(bytes: number): boolean {
    this.#change(bytes)
    // Counted first: when two workers race for the last bytes, one may be refused needlessly, but both never succeed.
    if (this.held <= this.limits.total) return true
    this.#change(-bytes)
    return false
  }

  give(bytes: number): void {
    if (bytes > 0) this.#change(-bytes)
  }

  #change(bytes: number): void {
    this.#own += bytes
    if (this.#shares) Atomics.store(this.#shares, this.#index, BigInt(this.#own))
  }
}
