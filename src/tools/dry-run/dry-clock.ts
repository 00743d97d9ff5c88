import type { Clock, Timer } from '../../runtime/runtime.ts'

interface Due {
  readonly at: number
  readonly then: () => void
}

/** ms; nothing that counts from a moment before the beginning comes out below zero. */
const BOOT = 86_400_000

/**
 * Time that stands still. It goes on when it is told to, and over what a request is held for, which passes at once:
 * whatever falls due on the way happens in its order.
 */
export class DryClock implements Clock {
  /** ms since the epoch. */
  readonly start: number
  #elapsed = 0
  #timers = new Set<Due>()

  constructor(start: number) {
    this.start = start
  }

  /** ms since the beginning. */
  get elapsed(): number {
    return this.#elapsed
  }

  now(): number {
    return this.start + this.#elapsed
  }

  mono(): number {
    return BOOT + this.#elapsed
  }

  after(ms: number, then: () => void, held?: 'held'): Timer {
    const timer: Due = { at: this.#elapsed + Math.max(0, ms), then }
    this.#timers.add(timer)
    if (held) setImmediate(() => this.#goTo(timer.at, timer))
    return { cancel: () => void this.#timers.delete(timer) }
  }

  /** ms; `Infinity` is not a time that could be reached. */
  advance(ms: number): void {
    this.#goTo(this.#elapsed + ms)
  }

  /** Back to the beginning; nothing is due any more. */
  reset(): void {
    this.#elapsed = 0
    this.#timers.clear()
  }

  /** `over`: nothing is left to wait for once it has gone. */
  #goTo(time: number, over?: Due): void {
    for (;;) {
      if (over && !this.#timers.has(over)) return
      let next: Due | undefined
      for (const timer of this.#timers) {
        if (timer.at <= time && (next === undefined || timer.at < next.at)) next = timer
      }
      if (next === undefined) break
      this.#elapsed = Math.max(this.#elapsed, next.at)
      this.#timers.delete(next)
      next.then()
    }
    this.#elapsed = Math.max(this.#elapsed, time)
  }
}
