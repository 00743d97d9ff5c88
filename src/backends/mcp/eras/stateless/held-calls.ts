import type { Clock, Timer } from '../../../../runtime/runtime.ts'
import { HELD_CALL } from '../../../../runtime/session-owner.ts'

/** ms that a call waits for its client's answers. */
const PATIENCE = 5 * 60_000
/** Waiting calls per client, and in total. */
const MAX_PER_CLIENT = 32
const MAX = 1000

interface Held<Call> {
  readonly call: Call
  readonly client: string
  readonly timer: Timer
}

/**
 * Calls to older servers that await an answer of the client. The client gets the call's name as `requestState`: it
 * contains nothing to tamper with, and is valid for that client only.
 */
export class HeldCalls<Call extends { giveUp(): void }> {
  readonly #clock: Clock
  readonly #newState: () => string
  readonly #held = new Map<string, Held<Call>>()

  /** `newState`: returns a state that begins with `HELD_CALL`. */
  constructor(clock: Clock, newState: () => string) {
    this.#clock = clock
    this.#newState = newState
  }

  static names(state: unknown): boolean {
    return typeof state === 'string' && state.startsWith(HELD_CALL)
  }

  /** Returns the state for the client; evicts the client's oldest call if needed. */
  hold(call: Call, client: string): string {
    const own = [...this.#held].filter(([, held]) => held.client === client)
    const [oldest] = own.length >= MAX_PER_CLIENT ? own : this.#held.size >= MAX ? [...this.#held] : []
    if (oldest) this.#drop(oldest[0])
    const state = this.#newState()
    this.#held.set(state, { call, client, timer: this.#clock.after(PATIENCE, () => this.#drop(state)) })
    return state
  }

  /** Each call is taken once. */
  take(state: string, client: string): Call | undefined {
    const held = this.#held.get(state)
    if (held?.client !== client) return undefined
    held.timer.cancel()
    this.#held.delete(state)
    return held.call
  }

  close(): void {
    for (const state of [...this.#held.keys()]) this.#drop(state)
  }

  #drop(state: string): void {
    const held = this.#held.get(state)
    this.#held.delete(state)
    held?.timer.cancel()
    held?.call.giveUp()
  }
}
