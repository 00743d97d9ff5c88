import type { Clock } from '../../../runtime/runtime.ts'

/** Values that are valid for a time, at most `most` of them: the oldest one is evicted. */
export class Expiring<T> {
  readonly #clock: Clock
  /** ms. */
  readonly #life: number
  readonly #most: number
  readonly #held = new Map<string, { readonly value: T; readonly until: number }>()

  constructor(clock: Clock, life: number, most: number) {
    this.#clock = clock
    this.#life = life
    this.#most = most
  }

  get(key: string): T | undefined {
    const held = this.#held.get(key)
    if (held && held.until > this.#clock.mono()) return held.value
    this.#held.delete(key)
    return undefined
  }

  set(key: string, value: T): void {
    this.#held.delete(key)
    this.#held.set(key, { value, until: this.#clock.mono() + this.#life })
    if (this.#held.size > this.#most) this.#held.delete(this.#held.keys().next().value as string)
  }

  /** Once only. */
  take(key: string): T | undefined {
    const value = this.get(key)
    this.#held.delete(key)
    return value
  }
}
