// A value with an expiry that is refreshed ahead of it: credentials and tokens.
import type { Clock } from '../runtime/runtime.ts'

export interface Dated<T> {
  readonly value: T
  /** ms since the epoch; undefined if it does not expire. */
  readonly expiresAt: number | undefined
}

/** ms before expiry at which it is refreshed, or a fifth of its lifetime; the old value is used meanwhile. */
const EARLY = 5 * 60_000
/** ms between retries after a failure while the old value is still valid. */
const PAUSE = 10_000

export class Fresh<T> {
  readonly #clock: Clock
  #held: Dated<T> | undefined
  #asking: Promise<T> | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  /** ms. */
  #early = EARLY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Not cached, and no fetch in flight. */
  get empty(): boolean {
    return this.#held === undefined && this.#asking === undefined
  }

  /**
   * Rejects with the error of `ask` if there is no valid value. Concurrent callers share one fetch. `awaited`: the
   * caller waits for the result; otherwise the old value is used meanwhile.
   */
  get(ask: (awaited: boolean) => Promise<Dated<T>>): Promise<T> {
    const held = this.#held
    const left = held === undefined ? 0 : (held.expiresAt ?? Number.POSITIVE_INFINITY) - this.#clock.now()
    if (held !== undefined && left > this.#early) return Promise.resolve(held.value)
    if (held !== undefined && left > 0) {
      if (this.#clock.mono() - this.#askedAt >= PAUSE) this.#ask(() => ask(false)).catch(() => {})
      return Promise.resolve(held.value)
    }
    return this.#ask(() => ask(true))
  }

  #ask(ask: () => Promise<Dated<T>>): Promise<T> {
    if (this.#asking) return this.#asking
    this.#askedAt = this.#clock.mono()
    this.#asking = ask()
      .then(dated => {
        this.#held = dated
        this.#early = Math.min(EARLY, ((dated.expiresAt ?? Number.POSITIVE_INFINITY) - this.#clock.now()) / 5)
        return dated.value
      })
      .finally(() => {
        this.#asking = undefined
      })
    return this.#asking
  }
}

/** The same per key, for at most `most` keys; the least recently used is evicted. */
export class FreshByKey<T> {
  readonly #clock: Clock
  readonly #most: number
  readonly #byKey = new Map<string, Fresh<T>>()

  constructor(most: number, clock: Clock) {
    this.#most = most
    this.#clock = clock
  }

  get(key: string, ask: (awaited: boolean) => Promise<Dated<T>>): Promise<T> {
    const known = this.#byKey.get(key)
    const held = known ?? new Fresh<T>(this.#clock)
    this.#byKey.delete(key)
    this.#byKey.set(key, held)
    if (this.#byKey.size > this.#most) this.#byKey.delete(this.#byKey.keys().next().value as string)
    const got = held.get(ask)
    // Keys may be chosen by clients, so a failed fetch does not occupy an entry.
    if (known === undefined) got.catch(() => held.empty && this.#byKey.delete(key))
    return got
  }
}
