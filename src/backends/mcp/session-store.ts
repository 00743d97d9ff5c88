import type { Clock, OpenSession, SessionHolder, Timer } from '../../http/runtime.ts'
import type { Session } from './session.ts'

/** ms between two looks for idle sessions. */
const SWEEP = 30_000
const MAX_ENDED = 10_000
/** characters. */
const SHOWN_ID = 8

/** The sessions of one backend, `backend`. Ends those that nobody has used for `ttl` ms. */
export class SessionStore implements SessionHolder {
  readonly #backend: string
  readonly #clock: Clock
  readonly #ttl: number
  readonly #max: number
  readonly #sessions = new Map<string, Session>()
  /** Sessions that have ended, so that their ids are not taken for those of another replica. */
  readonly #ended = new Set<string>()
  /** Targets of sessions that have ended, while they are ending. */
  readonly #leaving = new Set<Promise<void>>()
  #timer: Timer | undefined

  constructor(backend: string, clock: Clock, ttl: number, max: number) {
    this.#backend = backend
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

  remove(session: Session, targets: readonly Promise<void>[]): void {
    for (const target of targets) {
      this.#leaving.add(target)
      void target.then(() => this.#leaving.delete(target))
    }
    if (!this.#sessions.delete(session.id)) return
    this.#ended.add(session.id)
    if (this.#ended.size <= MAX_ENDED) return
    const [oldest] = this.#ended
    if (oldest !== undefined) this.#ended.delete(oldest)
  }

  openSessions(): readonly OpenSession[] {
    const now = this.#clock.mono()
    return [...this.#sessions.values()].map(session => ({
      session: session.id.slice(0, SHOWN_ID),
      backend: this.#backend,
      age: Math.round(now - session.startedMono),
      idle: session.active > 0 ? 0 : Math.round(now - session.lastUsed),
      calls: [...session.inFlight.values()].map(({ method }) => method),
      streams: session.streams.size + (session.outlet === undefined ? 0 : 1),
      targets: session.links.map(({ name, state }) => ({ target: name, state })),
    }))
  }

  /** Ends all sessions: nothing refers to the backend any more. Resolves when their targets are gone. */
  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    for (const session of [...this.#sessions.values()]) session.end()
    await Promise.all(this.#leaving)
  }

  #sweep(): void {
    const since = this.#clock.mono() - this.#ttl
    for (const session of [...this.#sessions.values()]) {
      if (session.active === 0 && session.lastUsed < since) session.end()
    }
    this.#timer = this.#sessions.size === 0 ? undefined : this.#clock.after(SWEEP, () => this.#sweep())
  }
}
