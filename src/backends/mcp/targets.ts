import type { Exchange } from '../../http/exchange.ts'
import type { JsonObject, Request, Response } from '../../mcp/message.ts'
import { isObject } from '../../mcp/message.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { traceCall } from './call.ts'
import { type Connection, type Flow, patienceAmongOthers, SILENT, type TargetFailure } from './connection.ts'

/** A compiled target: knows how to connect, for one client. */
export interface McpTarget {
  readonly name: string
  readonly kind: 'mcp' | 'sse' | 'stdio'
  /** `session`: the target's own session to go on with. */
  connect(onDown: (failure: TargetFailure) => void, session?: string): Connection
}

export interface TargetsOptions {
  readonly clock: Clock
  /** The others go on when one is down, and it is tried again; otherwise `onDown` hears of the first one. */
  readonly failOpen: boolean
  readonly onDown: () => void
  /** What a target hears before its first call; undefined: it takes calls at once. */
  greeting(): Greeting | undefined
}

export interface Greeting {
  readonly request: Request
  /** Follows when the target has agreed. */
  readonly afterwards: Buffer
}

/** ms until a failed target is tried again; doubles up to a minute. */
const FIRST_RETRY = 1000
const MAX_RETRY = 60_000
const NO_RETRY: TargetFailure = { message: 'the target is down', down: true }
const OVER: TargetFailure = { message: 'the session has ended', down: false }
const ANY_FLOW: Flow = { full: false, onRoom: then => then() }

/** One target, as one client reaches it. */
export class Link {
  readonly target: McpTarget
  connection: Connection | undefined
  state: 'new' | 'opening' | 'ready' | 'down' = 'new'
  /** What the target said it can do; undefined while nobody has asked it. */
  capabilities: JsonObject | undefined
  waiting: ((failure?: TargetFailure) => void)[] = []
  failures = 0
  retryAt = 0

  constructor(target: McpTarget) {
    this.target = target
  }

  get name(): string {
    return this.target.name
  }
}

/** The targets as one client reaches them: for a session, or for a single request. */
export class Targets {
  readonly links: readonly Link[]
  /** Names without prefix, and who serves them; `ambiguous` when several do. */
  readonly inventory = new Map<string, ReadonlyMap<string, Link | 'ambiguous'>>()
  readonly #options: TargetsOptions
  #closed = false

  constructor(targets: readonly McpTarget[], options: TargetsOptions) {
    this.links = targets.map(target => new Link(target))
    this.#options = options
  }

  link(target: string): Link | undefined {
    return this.links.find(link => link.name === target)
  }

  connect(link: Link, session?: string): Connection {
    const connection = link.target.connect(failure => {
      if (link.connection === connection) this.down(link, failure)
    }, session)
    link.connection = connection
    return connection
  }

  /** Calls `then` once the target takes calls, at once if it already does. */
  ready(link: Link, x: Exchange, then: (failure?: TargetFailure) => void): void {
    if (this.#closed) then(OVER)
    else if (link.state === 'ready') then()
    else if (link.state === 'opening') link.waiting.push(then)
    else if (link.state === 'down' && this.#options.clock.mono() < link.retryAt) then(NO_RETRY)
    else {
      const greeting = this.#options.greeting()
      if (greeting) {
        link.waiting.push(then)
        this.#greet(link, x, greeting)
      } else {
        this.connect(link)
        link.state = 'ready'
        then()
      }
    }
  }

  /** Takes note of a target's answer to a greeting. */
  introduced(link: Link, response: Response): void {
    const { result } = response.value
    if (isObject(result)) {
      if (isObject(result.capabilities)) link.capabilities = result.capabilities
      if (typeof result.protocolVersion === 'string' && link.connection) {
        link.connection.version = result.protocolVersion
      }
    }
    link.failures = 0
    link.state = 'ready'
  }

  /**
   * FailClosed: "fails the whole session if any target fails" (spec, "MCP backend"). A target fails when it cannot be
   * reached, its process has ended or it has lost its session; an error that it answers with is an answer. FailOpen:
   * the others go on, and the target is tried again.
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
    const { connection } = link
    link.connection = undefined
    connection?.close()
    settle(link, failure)
  }

  /** What is still to come of targets that need time to end. */
  close(): readonly Promise<void>[] {
    this.#closed = true
    return this.links.flatMap(link => {
      const closing = link.connection?.close() ?? []
      settle(link, OVER)
      return closing
    })
  }

  /** Opens a session with a target that has none yet, or has lost it. */
  #greet(link: Link, x: Exchange, greeting: Greeting): void {
    link.state = 'opening'
    const connection = this.connect(link)
    const traced = traceCall(x, link, greeting.request)
    let over = false
    const fail = (failure: TargetFailure): void => {
      if (over) return
      over = true
      limit.cancel()
      traced?.end({ target: link.name, error: failure.message })
      if (failure.down) this.down(link, failure)
      else {
        link.state = 'new'
        settle(link, failure)
      }
    }
    const limit = this.#options.clock.after(patienceAmongOthers(x).ms, () => {
      cancel()
      fail({ ...SILENT, down: true })
    })
    const cancel = connection.call(x, greeting.request, {
      flow: ANY_FLOW,
      message() {},
      reply: response => {
        if (over) return
        if (response.failed) return fail({ message: 'the target refused to begin a session', down: false })
        traced?.end({ target: link.name })
        this.introduced(link, response)
        connection.send(x, greeting.afterwards, failure => {
          if (failure) fail(failure)
          else if (!over) {
            limit.cancel()
            settle(link)
          }
        })
      },
      fail,
    })
  }
}

function settle(link: Link, failure?: TargetFailure): void {
  const { waiting } = link
  link.waiting = []
  for (const then of waiting) then(failure)
}
