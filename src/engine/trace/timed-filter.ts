import type { Expression } from '../../cel/expression.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** Milliseconds that a filter may cost all requests together: per burst, and per second. */
const BURST_MS = 100
const PER_SECOND_MS = 100

/** Selects requests by an expression, as long as that is cheap. */
export class TimedFilter {
  readonly #expression: Expression
  readonly #clock: Clock
  #left = BURST_MS
  #at: number

  constructor(expression: Expression, clock: Clock) {
    this.#expression = expression
    this.#clock = clock
    this.#at = clock.mono()
  }

  /** It has exceeded its budget and should not be evaluated again. */
  get spent(): boolean {
    return this.#left < 0
  }

  matches(x: Exchange): boolean {
    const before = this.#clock.mono()
    const outcome = this.#expression.evaluate(x)
    const after = this.#clock.mono()
    const refilled = this.#left + ((before - this.#at) * PER_SECOND_MS) / 1000
    this.#left = Math.min(BURST_MS, refilled) - (after - before)
    this.#at = after
    return outcome.ok && outcome.value === true
  }
}
