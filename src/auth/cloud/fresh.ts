// Something that is valid for a while and asked for anew before it ends: credentials and tokens.
import type { Clock } from '../../runtime/runtime.ts'

export interface Dated<T> {
  readonly value: T
  /** ms since the epoch; undefined: it stays valid. */
  readonly expiresAt: number | undefined
}

/** ms before its end at which a new one is asked for; the old one serves meanwhile. */
const EARLY = 5 * 60_000
/** ms between two questions after a failure while the old one is still valid. */
const PAUSE = 10_000

export class Fresh<T> {
  readonly #clock: Clock
  #held: Dated<T> | undefined
  #asking: Promise<T> | undefined
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Rejects with what `ask` says when there is nothing valid. Many callers ask once. `awaited`: somebody waits for the
   * answer; else the old one serves meanwhile.
   */
  get(ask: (awaited: boolean) => Promise<Dated<T>>): Promise<T> {
    const held = this.#held
    const left = held === undefined ? 0 : (held.expiresAt ?? Number.POSITIVE_INFINITY) - this.#clock.now()
    if (held !== undefined && left > EARLY) return Promise.resolve(held.value)
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
        return dated.value
      })
      .finally(() => {
        this.#asking = undefined
      })
    return this.#asking
  }
}
