import type { Clock, Timer } from '../../runtime/runtime.ts'

interface Due {
  readonly at: number
  readonly then: () => void
}

/** ms; keeps moments before the start above zero. */
const BOOT = 86_400_000

/**
 * A clock that stands still. It advances on request, and skips over delays of a request at once, firing due timers in
 * order.
 */
export class DryClock implements Clock {
  /** ms since the epoch. */
  readonly start: number
  #elapsed = 0
  #timers = new Set<Due>()

  constructor(start: number) {
    this.start = start
  }

  /** ms since the start. */
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

  /** ms; `Infinity` is never reached. */
  advance(ms: number): void {
    this.#goTo(this.#elapsed + ms)
  }

  /** Back to the start, without timers. */
  reset(): void {
    this.#elapsed = 0
    this.#timers.clear()
  }

  /** `over`: set if no timer remains afterwards. */
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
