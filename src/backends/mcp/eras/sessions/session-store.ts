import type { Clock, OpenSession, SessionHolder, Timer } from '../../../../runtime/runtime.ts'
import type { ClientSession } from './client-session.ts'

/** Interval in ms between sweeps for idle sessions. */
const SWEEP = 30_000
const MAX_ENDED = 10_000
/** characters. */
const SHOWN_ID = 8
/** Timeout in ms of sessions that are never used: clients normally continue at once. */
const FIRST_USE = 60_000
/** ms after which a client's own idle session may be evicted for its next one. */
const IDLE = 60_000

/** The sessions of one client. */
interface Holder {
  readonly sessions: Set<ClientSession>
  /** Sessions that have not been used since they began, oldest first. */
  readonly unused: Set<ClientSession>
}

/**
 * The sessions of one backend, `backend`, at most `max`, with an idle timeout of `ttl` ms. When it is full, never-used
 * sessions are evicted first, then those of the client that has most, so that no client can lock out the others by
 * opening sessions.
 */
export class SessionStore implements SessionHolder {
  /** Signs event ids if no key is configured: they are valid as long as their session. */
  readonly key: Buffer = process.getBuiltinModule('node:crypto').randomBytes(32)
  readonly #backend: string
  readonly #clock: Clock
  readonly #ttl: number
  readonly #max: number
  readonly #sessions = new Map<string, ClientSession>()
  readonly #holders = new Map<string, Holder>()
  /** The sessions of all clients, including those without an id yet. */
  #count = 0
  /** Ids of ended sessions, so that they are not taken for those of another replica. */
  readonly #ended = new Set<string>()
  /** Targets of ended sessions that are still shutting down. */
  readonly #leaving = new Set<Promise<void>>()
  #timer: Timer | undefined

  constructor(backend: string, clock: Clock, ttl: number, max: number) {
    this.#backend = backend
    this.#clock = clock
    this.#ttl = ttl
    this.#max = max
  }

  /** Admits a session before its targets are connected. False if no session can be evicted for it. */
  admit(session: ClientSession): boolean {
    const { client } = session
    while (this.#count >= this.#max) {
      const leaving = this.#leastUsed() ?? this.#fromLargest(client)
      if (leaving === undefined) return false
      leaving.end()
      // Its end normally releases it; otherwise it would stay forever.
      this.#release(leaving)
    }
    const holder = this.#holders.get(client) ?? { sessions: new Set(), unused: new Set() }
    this.#holders.set(client, holder)
    holder.sessions.add(session)
    holder.unused.add(session)
    this.#count++
    this.#timer ??= this.#clock.after(SWEEP, () => this.#sweep())
    return true
  }

  /** Marks a session as used: it keeps its place as long as it is not idle. */
  use(session: ClientSession): void {
    this.#holders.get(session.client)?.unused.delete(session)
  }

  get(id: string): ClientSession | undefined {
    return this.#sessions.get(id)
  }

  hasEnded(id: string): boolean {
    return this.#ended.has(id)
  }

  add(session: ClientSession): void {
    this.#sessions.set(session.id, session)
  }

  remove(session: ClientSession, targets: readonly Promise<void>[]): void {
    for (const target of targets) {
      this.#leaving.add(target)
      void target.then(() => this.#leaving.delete(target))
    }
    this.#release(session)
    if (!this.#sessions.delete(session.id)) return
    this.#ended.add(session.id)
    if (this.#ended.size <= MAX_ENDED) return
    const [oldest] = this.#ended
    if (oldest !== undefined) this.#ended.delete(oldest)
  }

  /** Streams for unsolicited messages would delay the stop; clients reopen them elsewhere. */
  stopping(): void {
    for (const { streams } of this.#sessions.values()) for (const stream of streams) stream.end()
  }

  openSessions(): readonly OpenSession[] {
    const now = this.#clock.mono()
    return [...this.#sessions.values()].map(session => ({
      session: session.id.slice(0, SHOWN_ID),
      backend: this.#backend,
      age: Math.round(now - session.startedMono),
      idle: session.active > 0 ? 0 : Math.round(now - session.lastUsed),
      calls: session.calls.methods,
      streams: session.streams.size + (session.outlet === undefined ? 0 : 1),
      targets: session.targets.links.map(({ name, state }) => ({ target: name, state })),
    }))
  }

  /**
   * Ends all sessions, since the backend is no longer referenced or the gateway stops. `stops`: sessions continue
   * elsewhere. Resolves when their targets are gone.
   */
  async close(stops = false): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    for (const { sessions } of [...this.#holders.values()]) for (const session of [...sessions]) session.end(stops)
    await Promise.all(this.#leaving)
  }

  /** The oldest unused session of the client that has most of them. */
  #leastUsed(): ClientSession | undefined {
    let most: Holder | undefined
    for (const holder of this.#holders.values()) if (holder.unused.size > (most?.unused.size ?? 0)) most = holder
    for (const session of most?.unused ?? []) if (isIdle(session)) return session
    return undefined
  }

  /**
   * The most expendable session of the client that has most. If that is the requesting client itself, only idle ones
   * qualify.
   */
  #fromLargest(client: string): ClientSession | undefined {
    const own = this.#holders.get(client)
    let largest = own
    for (const holder of this.#holders.values())
      if (holder.sessions.size > (largest?.sessions.size ?? 0)) largest = holder
    if (largest === undefined) return undefined
    const among = [...largest.sessions]
    if (largest !== own) return among.reduce((a, b) => (isEvictedBefore(b, a) ? b : a))
    const since = this.#clock.mono() - IDLE
    const idle = among.filter(session => isIdle(session) && session.lastUsed <= since)
    return idle.length === 0 ? undefined : idle.reduce((a, b) => (isEvictedBefore(b, a) ? b : a))
  }

  #release(session: ClientSession): void {
    const holder = this.#holders.get(session.client)
    if (!holder?.sessions.delete(session)) return
    holder.unused.delete(session)
    this.#count--
    if (holder.sessions.size === 0) this.#holders.delete(session.client)
  }

  #sweep(): void {
    const now = this.#clock.mono()
    for (const { sessions, unused } of [...this.#holders.values()]) {
      for (const session of [...sessions]) {
        const life = unused.has(session) ? Math.min(FIRST_USE, this.#ttl) : this.#ttl
        const outlet = unused.has(session) && session.outlet !== undefined
        if ((session.active === 0 || (outlet && isIdle(session))) && session.lastUsed < now - life) session.end()
      }
    }
    this.#timer = this.#count === 0 ? undefined : this.#clock.after(SWEEP, () => this.#sweep())
  }
}

/** Nothing is in flight: only the stream that carries an HTTP+SSE session may be open. */
function isIdle(session: ClientSession): boolean {
  return session.id !== '' && session.active === (session.outlet === undefined ? 0 : 1) && session.calls.size === 0
}

/** Idle sessions before those with streams, those before sessions with calls, then by last use. */
function isEvictedBefore(a: ClientSession, b: ClientSession): boolean {
  const [first, second] = [weightOf(a), weightOf(b)]
  return first === second ? a.lastUsed < b.lastUsed : first < second
}

function weightOf(session: ClientSession): number {
  if (session.id === '' || session.calls.size > 0) return 2
  return isIdle(session) ? 0 : 1
}
