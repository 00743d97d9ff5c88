// Something that is valid for a while and asked for anew before it ends: credentials and tokens.
import type { Clock } from '../runtime/runtime.ts'

export interface Dated<T> {
  readonly value: T
  /** ms since the epoch; undefined: it stays valid. */
  readonly expiresAt: number | undefined
}

/** ms before its end at which a new one is asked for, or a fifth of its life; the old one serves meanwhile. */
const EARLY = 5 * 60_000
/** ms between two questions after a failure while the old one is still valid. */
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

  /** Nothing is kept, and nobody is being asked. */
  get empty(): boolean {
    return this.#held === undefined && this.#asking === undefined
  }

  /**
   * Rejects with what `ask` says when there is nothing valid. Many callers ask once. `awaited`: somebody waits for the
   * answer; else the old one serves meanwhile.
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

/** The same for each key, for at most `most` of them: the one that was used longest ago is given up. */
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
    // Clients choose keys: what nothing came of makes no room for itself.
    if (known === undefined) got.catch(() => held.empty && this.#byKey.delete(key))
    return got
  }
}
