import { Failure } from '../../diagnostics/failure.ts'
import { systemClock } from '../../engine/clock.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** ms between two requests. */
const PAUSE = 200

/** The time limit for a gateway to become ready, shared by all steps: its pods and its response. */
export class Waiting {
  readonly #ms: number
  readonly #clock: Clock
  readonly #deadline: number

  constructor(ms: number, clock: Clock = systemClock) {
    this.#ms = ms
    this.#clock = clock
    this.#deadline = clock.mono() + ms
  }

  /** For one request. */
  get patience(): { readonly ms: number; readonly clock: Clock } {
    return { ms: Math.max(PAUSE, Math.ceil(this.#left)), clock: this.#clock }
  }

  /**
   * Resolves when it is time for the next request. Throws a Failure `timeout` with the last answer when the time is up.
   */
  async again(answer: Failure | { readonly words: string }): Promise<void> {
    const left = this.#left
    if (left <= 0) throw this.#notReady(answer)
    await new Promise<void>(resolve => void this.#clock.after(Math.min(PAUSE, left), resolve, 'held'))
  }

  get #left(): number {
    return this.#deadline - this.#clock.mono()
  }

  #notReady(answer: Failure | { readonly words: string }): Failure {
    const reason = answer instanceof Failure ? answer.message : `${answer.words}.`
    const message = `the gateway is not ready after ${this.#ms / 1000}s: ${reason}`
    // A silent server is no reason to wait longer for one response: it is asked again.
    const help = answer instanceof Failure && answer.kind !== 'timeout' ? answer.help : undefined
    return new Failure('timeout', message, help === undefined ? {} : { help })
  }
}
