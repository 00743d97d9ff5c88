import { Failure } from '../../diagnostics/failure.ts'
import { systemClock } from '../../engine/clock.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** ms between two questions. */
const PAUSE = 200

/** The time in which a gateway may become ready: one for all that is waited for, its pods and its answer. */
export class Waiting {
  readonly #ms: number
  readonly #clock: Clock
  readonly #deadline: number

  constructor(ms: number, clock: Clock = systemClock) {
    this.#ms = ms
    this.#clock = clock
    this.#deadline = clock.mono() + ms
  }

  /** For one question. */
  get patience(): { readonly ms: number; readonly clock: Clock } {
    return { ms: Math.max(PAUSE, Math.ceil(this.#left)), clock: this.#clock }
  }

  /** Resolves when it is time to ask again. Throws a Failure `timeout`, with the last answer, when it is too late. */
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
    // Silence is not a reason to wait longer for one answer: it is asked again and again.
    const help = answer instanceof Failure && answer.kind !== 'timeout' ? answer.help : undefined
    return new Failure('timeout', message, help === undefined ? {} : { help })
  }
}
