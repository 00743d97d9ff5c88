import type { Exchange } from '../../http/exchange.ts'
import { forgetting, restoreRequests } from '../../mcp/forgotten.ts'
import { isObject, type JsonObject, type Notification, type Request, type Response } from '../../mcp/message.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Connection, TargetFailure } from './connection.ts'
import type { Era } from './eras/era.ts'
import { type Agreed, type Greeting, greet } from './greet.ts'
import type { Need } from './sign-in/need.ts'
import type { HttpTarget } from './upstream-call.ts'

/** Who may call a target at which each user signs in. */
export interface Users {
  /** The user has a token. */
  has(x: Exchange): boolean
  /** The target has refused a call of this user, who has not signed in since. */
  needOf(x: Exchange): Need | undefined
}

/** A compiled target, which can connect for one client. */
export interface McpTarget {
  readonly name: string
  readonly kind: 'mcp' | 'sse' | 'stdio' | 'openapi'
  /** Can serve several clients without sessions. */
  readonly shareable: boolean
  /** Set if each user signs in there. */
  readonly users?: Users
  /** Set if it speaks HTTP. */
  readonly http?: HttpTarget
  /** `session`: the target's own session to resume. */
  connect(onDown: (failure: TargetFailure) => void, session?: string): Connection
}

export interface TargetsOptions {
  readonly clock: Clock
  /** If one fails, the others continue and it is retried; otherwise `onDown` gets the first failure. */
  readonly failOpen: boolean
  readonly onDown: () => void
  /** The era of targets that need no handshake. */
  readonly era: Era
  /** The handshakes to try before the first call. Empty: calls can be made at once. */
  greetings(link: Link): readonly Greeting[]
  /** Called when a target has agreed to a handshake. */
  met?(link: Link): void
  /** Adapts a target of another era to `era`. */
  bridge?(link: Link, connection: Connection): Connection
  /** Provides a target that several clients share. False where each has its own. */
  share?(link: Link, x: Exchange, then: (shared: Shared | TargetFailure) => void): boolean
}

/** A target that is already connected. */
export interface Shared {
  readonly connection: Connection
  readonly era: Era
  readonly introduction: JsonObject | undefined
}

/** ms before a failed target is retried; doubles up to a minute. */
const FIRST_RETRY = 1000
const MAX_RETRY = 60_000
const NO_RETRY: TargetFailure = { message: 'the target is down', down: true }
const OVER: TargetFailure = { message: 'the session has ended', down: false }

/** One client's connection to one target. */
export class Link {
  readonly target: McpTarget
  connection: Connection | undefined
  /** The underlying connection of `connection`, in whichever era. */
  carrier: Connection | undefined
  state: 'new' | 'opening' | 'ready' | 'down' = 'new'
  /** The target's era. */
  era: Era
  /** What the target reported about itself. Undefined before the handshake. */
  introduction: JsonObject | undefined
  waiting: ((failure?: TargetFailure) => void)[] = []
  failures = 0
  retryAt = 0
  /** The target that replaces this one will have lost the session. */
  forgets = false
  /** Notifications for the client, sent when possible. */
  news: Notification[] = []
  #level: unknown
  readonly #subscribed = new Set<string>()

  constructor(target: McpTarget, era: Era) {
    this.target = target
    this.era = era
  }

  get name(): string {
    return this.target.name
  }

  /** Records the session state that the target has confirmed. */
  keeps({ method, params }: Request): void {
    if (method === 'logging/setLevel') this.#level = params.level
    else if (method === 'resources/subscribe') this.#subscribed.add(String(params.uri))
    else if (method === 'resources/unsubscribe') this.#subscribed.delete(String(params.uri))
  }

  /** Restores the session state of a target that has lost it, and notifies the client. */
  remind(x: Exchange): void {
    if (!this.forgets) return
    this.forgets = false
    const wishes = { level: this.#level, subscribed: this.#subscribed }
    this.news = forgetting(this.name, this.capabilities ?? {}, wishes)
    let serial = 0
    for (const request of restoreRequests(wishes, () => `gwctl-again-${++serial}`)) {
      const flow = { full: false, onRoom: (then: () => void) => then() }
      this.connection?.call(x, request, { flow, message() {}, reply() {}, fail() {} })
    }
  }

  /** The capabilities that the target reported. */
  get capabilities(): JsonObject | undefined {
    const capabilities = this.introduction?.capabilities
    return isObject(capabilities) ? capabilities : undefined
  }
}

/** One client's connections to all targets, for a session or a single request. */
export class Targets {
  readonly links: readonly Link[]
  /** Unprefixed names and their targets; `ambiguous` if there are several. */
  readonly inventory = new Map<string, ReadonlyMap<string, Link | 'ambiguous'>>()
  readonly #options: TargetsOptions
  #closed = false

  constructor(targets: readonly McpTarget[], options: TargetsOptions) {
    this.links = targets.map(target => new Link(target, options.era))
    this.#options = options
  }

  link(target: string): Link | undefined {
    return this.links.find(link => link.name === target)
  }

  connect(link: Link, session?: string): Connection {
    const connection = link.target.connect(failure => {
      if (link.carrier === connection) this.down(link, failure)
    }, session)
    link.carrier = connection
    link.connection = connection
    return connection
  }

  /** Calls `then` once the target accepts calls, at once if it already does. */
  ready(link: Link, x: Exchange, then: (failure?: TargetFailure) => void): void {
    if (this.#closed) then(OVER)
    else if (link.state === 'ready') then()
    else if (link.state === 'opening') link.waiting.push(then)
    else if (link.state === 'down' && this.#options.clock.mono() < link.retryAt) then(NO_RETRY)
    else {
      link.waiting.push(then)
      this.#open(link, x)
    }
  }

  /** Records a target's answer to the handshake. */
  introduced(link: Link, { value: { result } }: Response): void {
    if (isObject(result)) {
      link.introduction = result
      if (typeof result.protocolVersion === 'string' && link.connection) {
        link.connection.version = result.protocolVersion
      }
    }
    link.failures = 0
    link.state = 'ready'
  }

  /** Retries the handshake in other eras with a target that refused the client's; `then` gets whether it agrees. */
  greetAnew(link: Link, x: Exchange, then: (agreed: boolean) => void): void {
    const [, ...others] = this.#options.greetings(link)
    const { connection } = link
    if (!connection || others.length === 0) {
      then(false)
      return
    }
    greet({ name: link.name, connection }, x, this.#options.clock, others, result => {
      if ('era' in result && !this.#closed) this.#agreed(link, result)
      then('era' in result)
    })
  }

  /**
   * FailClosed: "fails the whole session if any target fails" (spec, "MCP backend"). A target fails when it is
   * unreachable, its process has ended or it has lost its session; an error that it returns is an answer. FailOpen: the
   * others continue, and the target is retried.
   */
  down(link: Link, failure: TargetFailure): void {
    if (this.#closed || link.state === 'down') return
    if (!this.#options.failOpen) {
      this.#options.onDown()
      return
    }
    link.state = 'down'
    link.retryAt = this.#options.clock.mono() + Math.min(FIRST_RETRY * 2 ** link.failures, MAX_RETRY)
    link.failures++
    link.forgets ||= link.introduction !== undefined
    const { connection } = link
    link.connection = undefined
    connection?.close()
    settle(link, failure)
  }

  /** Returns what settles once slow targets are gone. `elsewhere`: their sessions are still needed. */
  close(elsewhere = false): readonly Promise<void>[] {
    this.#closed = true
    return this.links.flatMap(link => {
      const closing = link.connection?.close(elsewhere) ?? []
      settle(link, OVER)
      return closing
    })
  }

  /** Connects to a target that is not connected yet, or lost. */
  #open(link: Link, x: Exchange): void {
    link.state = 'opening'
    const shared = this.#options.share?.(link, x, given => {
      if ('message' in given) return this.#refused(link, given)
      link.connection = given.connection
      link.carrier = given.connection
      link.introduction = given.introduction
      this.#settleIn(link, given.era)
      this.#opened(link)
    })
    if (shared) return
    const connection = this.connect(link)
    const greetings = this.#options.greetings(link)
    if (greetings.length === 0) {
      this.#opened(link)
      return
    }
    greet({ name: link.name, connection }, x, this.#options.clock, greetings, result => {
      if ('message' in result) return this.#refused(link, result)
      this.#agreed(link, result)
      link.remind(x)
      this.#opened(link)
    })
  }

  #agreed(link: Link, { era, response }: Agreed): void {
    this.introduced(link, response)
    this.#settleIn(link, era)
    this.#options.met?.(link)
  }

  #settleIn(link: Link, era: Era): void {
    link.era = era
    const { connection } = link
    if (connection && era !== this.#options.era)
      link.connection = this.#options.bridge?.(link, connection) ?? connection
  }

  #opened(link: Link): void {
    if (this.#closed) return
    link.state = 'ready'
    settle(link)
  }

  #refused(link: Link, failure: TargetFailure): void {
    if (failure.down || failure.unreachable) this.down(link, failure)
    else link.state = 'new'
    settle(link, failure)
  }
}

function settle(link: Link, failure?: TargetFailure): void {
  const { waiting } = link
  link.waiting = []
  for (const then of waiting) then(failure)
}
