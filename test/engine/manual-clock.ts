import type { Clock, Timer } from '../../src/runtime/runtime.ts'

/** A clock that stands still until it is told to move. */
export class ManualClock implements Clock {
  #now: number
  /** ms of every timer that was set. */
  readonly armed: number[] = []
  #waiting: { readonly at: number; readonly then: () => void }[] = []

  constructor(now = Date.UTC(2026, 0, 15, 12, 30, 45, 250)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  mono(): number {
    return this.#now - Date.UTC(2026, 0, 1)
  }

  after(ms: number, then: () => void): Timer {
    this.armed.push(ms)
    const entry = { at: this.#now + ms, then }
    this.#waiting.push(entry)
    return {
      cancel: () => {
        this.#waiting = this.#waiting.filter(other => other !== entry)
      },
    }
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#waiting.length
  }

  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const next = this.#waiting.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#waiting = this.#waiting.filter(other => other !== next)
      this.#now = next.at
      next.then()
    }
    this.#now = end
  }
}
