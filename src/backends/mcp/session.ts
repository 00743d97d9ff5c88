import type { Exchange } from '../../http/exchange.ts'
import { GATEWAY } from '../../mcp/identity.ts'
import type { JsonObject, Request, RequestId, Response } from '../../mcp/message.ts'
import { isObject, readMessage } from '../../mcp/message.ts'
import { LATEST_SESSION_VERSION } from '../../mcp/protocol.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { TracedCall } from '../../trace/trace-event.ts'
import type { Answer } from './answer.ts'
import type { CallEvents, Cancel, Connection, Flow, TargetFailure } from './connection.ts'

/** A compiled target: knows how to connect, for one session. */
export interface McpTarget {
  readonly name: string
  readonly kind: 'mcp' | 'sse' | 'stdio'
  /** `session`: the target's own session to go on with. */
  connect(onDown: (failure: TargetFailure) => void, session?: string): Connection
}

export interface SessionOptions {
  readonly clock: Clock
  readonly failOpen: boolean
  readonly principal: string | undefined
  /** Whose sessions share one place among those of all clients. */
  readonly client: string
  readonly clientVersion: string
  /** Called once, when the session is over. `targets`: settle when those are gone that need time to end. */
  readonly onEnd: (session: Session, targets: readonly Promise<void>[]) => void
}

/** ms until a failed target is tried again; doubles up to a minute. */
const FIRST_RETRY = 1000
const MAX_RETRY = 60_000
/** bytes. */
const MAX_GREETING = 64 * 1024
const NO_RETRY: TargetFailure = { message: 'the target is down', down: true }
const ANY_FLOW: Flow = { full: false, onRoom: then => then() }

/** The part of a session that concerns one target. */
export class Link {
  readonly target: McpTarget
  connection: Connection | undefined
  state: 'new' | 'opening' | 'ready' | 'down' = 'new'
  /** What the target said it can do; undefined when the session began elsewhere. */
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

interface InFlight {
  readonly method: string
  readonly answer: Answer
  readonly cancels: Map<Link, Cancel>
}

/** A client's session: its connections to all targets, and what is under way on them. */
export class Session {
  id = ''
  readonly links: readonly Link[]
  readonly principal: string | undefined
  readonly client: string
  /** On the monotonic clock. */
  readonly startedMono: number
  lastUsed: number
  /** Requests and streams that are open. */
  active = 0
  ended = false
  /** Numbers the gateway's own requests. */
  serial = 0
  /** The client's request that opened the session, if it is short: a target that comes back is greeted with it. */
  #greeting: Request | undefined
  #opened = false
  /** Names without prefix, and who serves them; `ambiguous` when several do. */
  readonly inventory = new Map<string, ReadonlyMap<string, Link | 'ambiguous'>>()
  readonly inFlight = new Map<RequestId, InFlight>()
  /** The client's streams for what no call asked for. */
  readonly streams = new Set<Answer>()
  /** HTTP+SSE: the one stream that takes everything, event by event. */
  outlet: Answer | undefined
  readonly #options: SessionOptions

  constructor(targets: readonly McpTarget[], options: SessionOptions) {
    this.links = targets.map(target => new Link(target))
    this.principal = options.principal
    this.client = options.client
    this.startedMono = options.clock.mono()
    this.lastUsed = this.startedMono
    this.#options = options
  }

  /** False when that has happened before. */
  open(greeting: Request): boolean {
    if (this.#opened) return false
    this.#opened = true
    if (greeting.bytes.length <= MAX_GREETING) this.#greeting = greeting
    return true
  }

  link(target: string): Link | undefined {
    return this.links.find(link => link.name === target)
  }

  connect(link: Link, session?: string): Connection {
    const connection = link.target.connect(failure => {
      if (link.connection === connection) this.targetDown(link, failure)
    }, session)
    link.connection = connection
    return connection
  }

  /** Calls `then` once the target takes calls, at once if it already does. */
  ready(link: Link, x: Exchange, then: (failure?: TargetFailure) => void): void {
    if (this.ended) then({ message: 'the session has ended', down: false })
    else if (link.state === 'ready') then()
    else if (link.state === 'opening') link.waiting.push(then)
    else if (link.state === 'down' && this.#options.clock.mono() < link.retryAt) then(NO_RETRY)
    else {
      link.waiting.push(then)
      this.#greet(link, x)
    }
  }

  /** A call of the client on one target, under the client's id; `events` hears of it until its end. */
  call(link: Link, request: Request, answer: Answer, events: CallEvents): void {
    const { x } = answer
    const traced = traceCall(x, link, request)
    let over = false
    const finish = (error?: string): boolean => {
      if (over) return false
      over = true
      this.#forget(request.id, link)
      traced?.end({ target: link.name, error })
      return true
    }
    const cancel = (link.connection as Connection).call(x, request, {
      flow: events.flow,
      message: message => {
        if (!over) events.message(message)
      },
      reply: response => {
        if (finish()) events.reply(response)
      },
      fail: failure => {
        if (!finish(failure.message)) return
        if (failure.down) this.targetDown(link, failure)
        events.fail(failure)
      },
    })
    if (over) return
    const entry = this.inFlight.get(request.id) ?? { method: request.method, answer, cancels: new Map() }
    entry.cancels.set(link, told => {
      if (finish('canceled')) cancel(told)
    })
    this.inFlight.set(request.id, entry)
  }

  /** Ends what is under way under the client's id. */
  cancel(id: RequestId, told = false): void {
    for (const cancel of [...(this.inFlight.get(id)?.cancels.values() ?? [])]) cancel(told)
  }

  /**
   * FailClosed: "fails the whole session if any target fails" (spec, "MCP backend"). A target fails when it cannot be
   * reached, its process has ended or it has lost its session; an error that it answers with is an answer. The session
   * ends then, and its client, told 404, begins a new one. FailOpen: the others go on, and the target is tried again.
   */
  targetDown(link: Link, failure: TargetFailure): void {
    if (this.ended || link.state === 'down') return
    if (!this.#options.failOpen) {
      this.end()
      return
    }
    link.state = 'down'
    link.retryAt = this.#options.clock.mono() + Math.min(FIRST_RETRY * 2 ** link.failures, MAX_RETRY)
    link.failures++
    const { connection } = link
    link.connection = undefined
    connection?.close()
    this.#settle(link, failure)
  }

  end(): void {
    if (this.ended) return
    this.ended = true
    for (const stream of this.streams) stream.end()
    this.outlet?.end()
    const targets = this.links.flatMap(link => {
      const closing = link.connection?.close() ?? []
      this.#settle(link, { message: 'the session has ended', down: false })
      return closing
    })
    this.#options.onEnd(this, targets)
  }

  /** Opens a session with a target that has none yet, or has lost it. */
  #greet(link: Link, x: Exchange): void {
    link.state = 'opening'
    const connection = this.connect(link)
    const greeting = this.#greeting ?? syntheticGreeting(this.#options.clientVersion)
    const traced = traceCall(x, link, greeting)
    const fail = (failure: TargetFailure): void => {
      traced?.end({ target: link.name, error: failure.message })
      if (failure.down) this.targetDown(link, failure)
      else {
        link.state = 'new'
        this.#settle(link, failure)
      }
    }
    connection.call(x, greeting, {
      flow: ANY_FLOW,
      message() {},
      reply: response => {
        if (response.failed) return fail({ message: 'the target refused to begin a session', down: false })
        traced?.end({ target: link.name })
        this.introduced(link, response)
        connection.send(x, INITIALIZED, failure => (failure ? fail(failure) : this.#settle(link)))
      },
      fail,
    })
  }

  /** Takes note of a target's answer to `initialize`. */
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

  #settle(link: Link, failure?: TargetFailure): void {
    const { waiting } = link
    link.waiting = []
    for (const then of waiting) then(failure)
  }

  #forget(id: RequestId, link: Link): void {
    const entry = this.inFlight.get(id)
    entry?.cancels.delete(link)
    if (entry?.cancels.size === 0) this.inFlight.delete(id)
  }
}

const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}')

function syntheticGreeting(version: string): Request {
  const message = readMessage(
    Buffer.from(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 0,
        method: 'initialize',
        params: {
          protocolVersion: version === '' ? LATEST_SESSION_VERSION : version,
          capabilities: {},
          clientInfo: GATEWAY,
        },
      }),
    ),
  )
  return message as Request
}

/** One message to one target, for whoever watches the request. */
export function traceCall(
  { trace }: Exchange,
  { name }: Pick<Link, 'name'>,
  { method }: Request,
): TracedCall | undefined {
  return trace?.child(`target ${name}`).call({ target: name, purpose: method })
}
