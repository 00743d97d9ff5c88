/** What holds for bodies that are read whole, whoever wants them. */
export interface BodyLimits {
  /** bytes of all of them together, over all requests. */
  readonly total: number
  /** ms that reading one may take; 0: any time. */
  readonly timeout: number
  /** bytes a second that one of a request has to come at, on average and after a grace; 0: any. */
  readonly minRate: number
}

/**
 * Bytes of bodies that are held in memory as a whole, counted over all requests of the replica, and how many there may
 * be. A body is counted as it comes, so that an announced length alone takes nothing from others.
 */
export class BodyMemory {
  /** Of the configuration in force. */
  limits: BodyLimits = { total: Number.POSITIVE_INFINITY, timeout: 0, minRate: 0 }
  readonly #shares: BigInt64Array | undefined
  readonly #index: number
  #own = 0

  /** `shares`: one for each worker of the replica, this one's at `index`; unset where there are no others. */
  constructor(shares?: BigInt64Array, index = 0) {
    this.#shares = shares
    this.#index = index
  }

  /** bytes that this worker holds. */
  get own(): number {
    return this.#own
  }

  /** bytes that all of them hold. */
  get held(): number {
    const shares = this.#shares
    if (shares === undefined) return this.#own
    let all = 0
    for (let i = 0; i < shares.length; i++) all += Number(Atomics.load(shares, i))
    return all
  }

  /** False, and nothing taken, where there would be too many. */
  take(bytes: number): boolean {
    this.#change(bytes)
    // Counted first: of two workers that take the last bytes at once, one may be refused in vain, but never both served.
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
