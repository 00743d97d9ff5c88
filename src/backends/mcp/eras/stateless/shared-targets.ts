import type { Exchange } from '../../../../http/exchange.ts'
import type { JsonObject } from '../../../../mcp/message.ts'
import type { ClientFacts } from '../../../../mcp/request-meta.ts'
import type { Clock, Timer } from '../../../../runtime/runtime.ts'
import type { ListenEvents, TargetFailure } from '../../connection.ts'
import type { Greeting } from '../../greet.ts'
import { type Link, type McpTarget, type Shared, Targets } from '../../targets.ts'
import type { Era } from '../era.ts'
import { HeldCalls } from './held-calls.ts'
import type { OpenCall } from './open-call.ts'
import { SharedConnection } from './shared-connection.ts'

/** ms for which a target's era is cached. */
const REMEMBERED = 60_000
/** Interval in ms between sweeps for idle programs. */
const SWEEP = 30_000
/** Targets, and users of those at which they sign in. */
const MAX_KNOWN = 1000
const TOO_MANY: TargetFailure = { message: 'too many programs are running', down: false }

/** What is known of a target. */
export interface Known {
  readonly era: Era
  readonly introduction: JsonObject | undefined
}

/** The client that a program is started for. */
export interface Lender {
  /** The only client that it serves. */
  readonly client: string
  readonly facts: ClientFacts
}

interface Running {
  readonly targets: Targets
  /** Consumers of its unsolicited messages. */
  readonly listeners: Set<ListenEvents>
  readonly link: Link
  /** Requests that use it. */
  users: number
  lastUsed: number
  serial: number
}

/**
 * Shared by requests without a session: the era of each target, and the programs of stdio targets, which are too slow
 * to start per request. A program serves one principal only.
 */
export class SharedTargets {
  readonly held: HeldCalls<OpenCall>
  readonly #clock: Clock
  readonly #idle: number
  readonly #max: number
  readonly #known = new Map<string, Known & { readonly until: number }>()
  readonly #running = new Map<string, Running>()
  readonly #leaving = new Set<Promise<void>>()
  #timer: Timer | undefined

  /** `idle`: ms without a request until a program is ended. `max`: concurrent programs. */
  constructor(clock: Clock, newState: () => string, idle: number, max: number) {
    this.held = new HeldCalls(clock, newState)
    this.#clock = clock
    this.#idle = idle
    this.#max = max
  }

  known(target: string): Known | undefined {
    const known = this.#known.get(target)
    return known && known.until > this.#clock.mono() ? known : undefined
  }

  learn(target: string, known: Known): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.set(target, { ...known, until: this.#clock.mono() + REMEMBERED })
  }

  /**
   * A connection to the program of `target` for one request; `close` returns it. An older server learns the client's
   * capabilities once, so the program serves only clients that have the same.
   */
  lend(
    target: McpTarget,
    { client, facts }: Lender,
    how: { readonly era: Era; greetings(link: Link): readonly Greeting[] },
    x: Exchange,
    then: (shared: Shared | TargetFailure) => void,
  ): void {
    const general = `${target.name} ${client}`
    const key = `${general} ${JSON.stringify(facts.capabilities)}`
    const running = this.#running.get(general) ?? this.#running.get(key) ?? this.#start(key, target, how)
    if (!running) {
      then(TOO_MANY)
      return
    }
    running.users++
    const giveBack = (): void => {
      running.users--
      running.lastUsed = this.#clock.mono()
    }
    const { link, targets } = running
    targets.ready(link, x, failure => {
      if (failure || !link.connection) {
        giveBack()
        return then(failure ?? { message: 'the target is down', down: false })
      }
      const { era, introduction, connection } = link
      if (era === how.era && this.#running.delete(key)) this.#running.set(general, running)
      const listen = (events: ListenEvents) => follow(running, x, events)
      const alone = () => running.users === 1
      const ownId = () => `gwctl-${++running.serial}`
      then({ connection: new SharedConnection(connection, { ownId, alone, listen, giveBack }), era, introduction })
    })
  }

  /** Ends all programs; resolves when they are gone. */
  async close(): Promise<void> {
    this.#timer?.cancel()
    this.held.close()
    for (const key of [...this.#running.keys()]) this.#end(key)
    await Promise.all(this.#leaving)
  }

  #start(
    key: string,
    target: McpTarget,
    { era, greetings }: { readonly era: Era; greetings(link: Link): readonly Greeting[] },
  ): Running | undefined {
    if (this.#running.size >= this.#max && !this.#makeRoom()) return undefined
    const clock = this.#clock
    const targets = new Targets([target], { clock, failOpen: true, onDown() {}, era, greetings })
    const link = targets.links[0] as Link
    const listeners = new Set<ListenEvents>()
    const running = { targets, link, listeners, users: 0, lastUsed: clock.mono(), serial: 0 }
    this.#running.set(key, running)
    this.#timer ??= clock.after(SWEEP, () => this.#sweep())
    return running
  }

  /** Ends the program that has been idle longest. */
  #makeRoom(): boolean {
    let oldest: string | undefined
    let since = Number.POSITIVE_INFINITY
    for (const [key, { users, lastUsed }] of this.#running) {
      if (users > 0 || lastUsed >= since) continue
      oldest = key
      since = lastUsed
    }
    if (oldest !== undefined) this.#end(oldest)
    return oldest !== undefined
  }

  #end(key: string): void {
    const running = this.#running.get(key)
    this.#running.delete(key)
    for (const leaving of running?.targets.close() ?? []) {
      this.#leaving.add(leaving)
      void leaving.then(() => this.#leaving.delete(leaving))
    }
  }

  #sweep(): void {
    const before = this.#clock.mono() - this.#idle
    for (const [key, { users, lastUsed }] of [...this.#running]) if (users === 0 && lastUsed <= before) this.#end(key)
    this.#timer = this.#running.size === 0 ? undefined : this.#clock.after(SWEEP, () => this.#sweep())
  }
}

/** The program has one stream for all unsolicited messages. */
function follow({ link, listeners }: Running, x: Exchange, events: ListenEvents): () => void {
  const first = listeners.size === 0
  listeners.add(events)
  if (first) {
    link.connection?.listen(x, {
      flow: { full: false, onRoom: then => then() },
      open() {},
      message: message => {
        for (const listener of [...listeners]) listener.message(message)
      },
      end: failure => {
        for (const listener of [...listeners]) listener.end(failure)
        listeners.clear()
      },
    })
  }
  events.open()
  return () => listeners.delete(events)
}
