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
  /** The client whose sessions share one quota. */
  readonly client: string
  readonly clientVersion: string
  /** Distinguishes this process from others that served the session. */
  readonly nonce: string
  /** Signs event ids. */
  readonly key: Buffer
  /** What is known of a client whose session began elsewhere. */
  readonly facts: ClientFacts
  /** Called once, when the session ends. `targets`: settle once slow targets are gone. */
  readonly onEnd: (session: ClientSession, targets: readonly Promise<void>[]) => void
}

/** bytes. */
const MAX_GREETING = 64 * 1024
const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}')

/**
 * A client's session with the gateway, from `initialize` to its end. A target whose failure fails the session ends it:
 * 404 makes the client start over.
 */
export class ClientSession implements Conversation {
  id = ''
  readonly era: Era
  readonly targets: Targets
  readonly calls: Calls
  readonly principal: string | undefined
  readonly client: string
  /** Monotonic. */
  readonly startedMono: number
  lastUsed: number
  /** Open requests and streams. */
  active = 0
  ended = false
  readonly events: EventLogs
  /** The client's streams for unsolicited messages. */
  readonly streams = new Set<Answer>()
  /** HTTP+SSE: the single stream that carries all messages. */
  outlet: Answer | undefined
  /** The client's `initialize`, if it is short: it is repeated to a target that reconnects. */
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

  get stream(): Answer | undefined {
    return [...this.streams].find(({ over }) => !over)
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

  /** False if already open. */
  open(greeting: Request): boolean {
    if (this.#opened) return false
    this.#opened = true
    this.greetWith(greeting)
    return true
  }

  greetWith(greeting: Request): void {
    this.#greeting = greeting.bytes.length <= MAX_GREETING ? greeting : undefined
  }

  /** `elsewhere`: another gateway, or this one after a restart, continues the session. */
  end(elsewhere = false): void {
    if (this.ended) return
    this.ended = true
    this.events.close()
    for (const stream of this.streams) stream.end()
    this.outlet?.end()
    this.#options.onEnd(this, this.targets.close(elsewhere))
  }
}

/** `initialize` and `notifications/initialized`. */
export function greetingOf(era: Era, request: Request): Greeting {
  return { era, request, version: undefined, afterwards: INITIALIZED }
}

/** For a target without a client handshake. An empty version means the latest. */
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
