import type { Clock, Timer } from '../../http/runtime.ts'
import type { Session } from './session.ts'

/** ms between two looks for idle sessions. */
const SWEEP = 30_000
const MAX_ENDED = 10_000

/** The sessions of one backend. Ends those that nobody has used for `ttl` ms. */
export class SessionStore {
  readonly #clock: Clock
  readonly #ttl: number
  readonly #max: number
  readonly #sessions = new Map<string, Session>()
  /** Sessions that have ended, so that their ids are not taken for those of another replica. */
  readonly #ended = new Set<string>()
  #timer: Timer | undefined

  constructor(clock: Clock, ttl: number, max: number) {
    this.#clock = clock
    this.#ttl = ttl
    this.#max = max
  }

  get full(): boolean {
    return this.#sessions.size >= this.#max
  }

  get(id: string): Session | undefined {
    return this.#sessions.get(id)
  }

  hasEnded(id: string): boolean {
    return this.#ended.has(id)
  }

  add(session: Session): void {
    this.#sessions.set(session.id, session)
    this.#timer ??= this.#clock.after(SWEEP, () => this.#sweep())
  }

  remove(session: Session): void {
    if (!this.#sessions.delete(session.id)) return
    this.#ended.add(session.id)
    if (this.#ended.size <= MAX_ENDED) return
    const [oldest] = this.#ended
    if (oldest !== undefined) this.#ended.delete(oldest)
  }

  /** Ends all sessions: nothing refers to the backend any more. */
  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    for (const session of [...this.#sessions.values()]) session.end()
  }

  #sweep(): void {
    const since = this.#clock.mono() - this.#ttl
    for (const session of [...this.#sessions.values()]) {
      if (session.active === 0 && session.lastUsed < since) session.end()
    }
    this.#timer = this.#sessions.size === 0 ? undefined : this.#clock.after(SWEEP, () => this.#sweep())
  }
}
