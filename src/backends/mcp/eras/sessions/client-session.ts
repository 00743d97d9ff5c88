import { type Signing, sealEventIds, unsealEventId } from '../../../../mcp/event-id.ts'
import { type Request, readMessage } from '../../../../mcp/message.ts'
import { LATEST_SESSION_VERSION } from '../../../../mcp/protocol.ts'
import { type ClientFacts, introducedBy } from '../../../../mcp/request-meta.ts'
import type { Clock } from '../../../../runtime/runtime.ts'
import type { Answer } from '../../answer.ts'
import { Calls } from '../../call.ts'
import type { Conversation } from '../../conversation.ts'
import type { Greeting } from '../../greet.ts'
import { type McpTarget, Targets } from '../../targets.ts'
import type { Era } from '../era.ts'
import { EventLogs } from './event-log.ts'
import { NewerTarget } from './newer-target.ts'

export interface SessionOptions {
  readonly era: Era
  /** Of all targets. */
  readonly eras: readonly Era[]
  readonly clock: Clock
  readonly failOpen: boolean
  readonly principal: string | undefined
  /** Whose sessions share one place among those of all clients. */
  readonly client: string
  readonly clientVersion: string
  /** Tells this process from others that have served the session. */
  readonly nonce: string
  /** What event ids are signed with. */
  readonly key: Buffer
  /** What is known of a client that has begun elsewhere. */
  readonly facts: ClientFacts
  /** Called once, when the session is over. `targets`: settle when those are gone that need time to end. */
  readonly onEnd: (session: ClientSession, targets: readonly Promise<void>[]) => void
}

/** bytes. */
const MAX_GREETING = 64 * 1024
const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}')

/** What a client has with the gateway from `initialize` to its end. A target that fails for all ends it: 404 tells the client to begin anew. */
export class ClientSession implements Conversation {
  id = ''
  readonly era: Era
  readonly targets: Targets
  readonly calls: Calls
  readonly principal: string | undefined
  readonly client: string
  /** On the monotonic clock. */
  readonly startedMono: number
  lastUsed: number
  /** Requests and streams that are open. */
  active = 0
  ended = false
  readonly events: EventLogs
  /** The client's streams for what no call asked for. */
  readonly streams = new Set<Answer>()
  /** HTTP+SSE: the one stream that takes everything, event by event. */
  outlet: Answer | undefined
  /** The client's request that opened the session, if it is short: a target that comes back is greeted with it. */
  #greeting: Request | undefined
  #opened = false
  readonly #options: SessionOptions

  constructor(targets: readonly McpTarget[], options: SessionOptions) {
    const { era, clock, failOpen, principal, client } = options
    this.era = era
    this.targets = new Targets(targets, {
      clock,
      failOpen,
      onDown: () => this.end(),
      era,
      greetings: () => {
        const greeting = this.#greeting ?? syntheticGreeting(options.clientVersion, options.facts)
        return [era, ...options.eras.filter(other => other !== era)].map(each => each.greet(greeting))
      },
      bridge: (link, connection) => new NewerTarget(connection, this.facts, link.capabilities ?? {}),
    })
    this.calls = new Calls(this.targets, clock)
    this.events = new EventLogs({
      clock,
      nonce: options.nonce,
      signing: () => this.#signing,
    })
    this.principal = principal
    this.client = client
    this.startedMono = clock.mono()
    this.lastUsed = this.startedMono
    this.#options = options
  }

  get #signing(): Signing {
    return { session: this.id, key: this.#options.key }
  }

  seal(): (chunk: Buffer) => Buffer {
    return sealEventIds(this.#signing)
  }

  unseal(id: string): string | undefined {
    return unsealEventId(id, this.#signing)
  }

  get facts(): ClientFacts {
    return this.#greeting ? introducedBy(this.#greeting.params) : this.#options.facts
  }

  /** False when that has happened before. */
  open(greeting: Request): boolean {
    if (this.#opened) return false
    this.#opened = true
    if (greeting.bytes.length <= MAX_GREETING) this.#greeting = greeting
    return true
  }

  /** `elsewhere`: another gateway, or this one after its restart, goes on with it. */
  end(elsewhere = false): void {
    if (this.ended) return
    this.ended = true
    this.events.close()
    for (const stream of this.streams) stream.end()
    this.outlet?.end()
    this.#options.onEnd(this, this.targets.close(elsewhere))
  }
}

/** `initialize`, and the word that it was heard. */
export function greetingOf(era: Era, request: Request): Greeting {
  return { era, request, version: undefined, afterwards: INITIALIZED }
}

/** For a target that no client has begun with. An empty version is the latest. */
export function syntheticGreeting(version: string, { capabilities, clientInfo }: ClientFacts): Request {
  const message = readMessage(
    Buffer.from(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 0,
        method: 'initialize',
        params: {
          protocolVersion: version === '' ? LATEST_SESSION_VERSION : version,
          capabilities,
          clientInfo,
        },
      }),
    ),
  )
  return message as Request
}
