import type { Expression } from '../../cel/expression.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** Milliseconds that a filter may cost all requests together: at one go, and in each second. */
const BURST_MS = 100
const PER_SECOND_MS = 100

/** Picks requests by an expression, for as long as that costs them little. */
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

  /** It has cost more than it may: nothing should ask it any more. */
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
