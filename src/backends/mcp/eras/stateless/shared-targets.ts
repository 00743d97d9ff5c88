import type { Exchange } from '../../../../http/exchange.ts'
import type { JsonObject } from '../../../../mcp/message.ts'
import type { Clock, Timer } from '../../../../runtime/runtime.ts'
import type { TargetFailure } from '../../connection.ts'
import type { Greeting } from '../../greet.ts'
import { type Link, type McpTarget, type Shared, Targets } from '../../targets.ts'
import type { Era } from '../era.ts'
import { SharedConnection } from './shared-connection.ts'

/** ms that a target is taken to speak what it spoke last. */
const REMEMBERED = 60_000
/** ms between two looks for programs that nobody uses. */
const SWEEP = 30_000
const TOO_MANY: TargetFailure = { message: 'too many programs are running', down: false }

/** What is known of a target. */
export interface Known {
  readonly era: Era
  readonly introduction: JsonObject | undefined
}

interface Running {
  readonly targets: Targets
  readonly link: Link
  /** Requests that hold it. */
  users: number
  lastUsed: number
  serial: number
}

/**
 * What requests without a session have in common: which era each target speaks, and the programs of stdio targets, which
 * are too slow to start for a single request. A program serves one principal only.
 */
export class SharedTargets {
  readonly #clock: Clock
  readonly #idle: number
  readonly #max: number
  readonly #known = new Map<string, Known & { readonly until: number }>()
  readonly #running = new Map<string, Running>()
  readonly #leaving = new Set<Promise<void>>()
  #timer: Timer | undefined

  /** `idle`: ms without a request until a program ends; `max`: programs at a time. */
  constructor(clock: Clock, idle: number, max: number) {
    this.#clock = clock
    this.#idle = idle
    this.#max = max
  }

  known(target: string): Known | undefined {
    const known = this.#known.get(target)
    return known && known.until > this.#clock.mono() ? known : undefined
  }

  learn(target: string, known: Known): void {
    this.#known.set(target, { ...known, until: this.#clock.mono() + REMEMBERED })
  }

  /** A connection to the program of `target` for one request of `principal`; its `close` gives it back. */
  lend(
    target: McpTarget,
    principal: string,
    how: { readonly era: Era; greetings(link: Link): readonly Greeting[] },
    x: Exchange,
    then: (shared: Shared | TargetFailure) => void,
  ): void {
    const key = `${target.name} ${principal}`
    const running = this.#running.get(key) ?? this.#start(key, target, how)
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
      const alone = () => running.users === 1
      const ownId = () => `gwctl-${++running.serial}`
      then({ connection: new SharedConnection(connection, { ownId, alone, giveBack }), era, introduction })
    })
  }

  /** Ends all programs; resolves when they are gone. */
  async close(): Promise<void> {
    this.#timer?.cancel()
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
    const running = { targets, link, users: 0, lastUsed: clock.mono(), serial: 0 }
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
