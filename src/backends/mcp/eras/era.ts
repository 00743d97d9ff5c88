import type { Exchange } from '../../../http/exchange.ts'
import type { Introduction } from '../../../mcp/initialize.ts'
import type { JsonOutline } from '../../../mcp/json-outline.ts'
import type { JsonObject, Message, Request, RequestId } from '../../../mcp/message.ts'
import type { Answer } from '../answer.ts'
import type { Greeting } from '../greet.ts'
import type { Router } from '../router.ts'
import type { McpSetup } from '../setup.ts'
import type { SessionStore } from './sessions/session-store.ts'
import type { SharedTargets } from './stateless/shared-targets.ts'

/**
 * Revisions of MCP with the same conversation model: how it begins, what it includes, and what each request carries.
 * Listed in `index.ts`.
 */
export interface Era {
  /** Oldest first; revisions sort as text. */
  readonly versions: readonly string[]
  /** The request by which a client asks for the server's identity. */
  readonly introduction: string
  /** Requests that are sent to every target and answered with an empty result. */
  readonly forAll: ReadonlySet<string>
  /** Targets may send requests to clients. */
  readonly asksClients: boolean
  /** Members of every page of a list, unless its targets set them. */
  readonly pageMembers: JsonObject
  /** The handshake with a target of this era, on behalf of the client that sent `initialize`. */
  greet(initialize: Request): Greeting
  /** A request of the gateway itself, in the form that clients of this era use. */
  ownRequest(request: Request): Request
  /** The reply to `introduction` on behalf of several targets. */
  describe(request: Request, introductions: readonly Introduction[], about: Gateway): string
  /** HTTP statuses for error codes of targets; other errors are sent as events. */
  readonly statuses: ReadonlyMap<unknown, number>
  /** The refusals of requests without a target. */
  readonly refusals: {
    readonly unknownMethod: Refusing
    readonly unknownName: Refusing
  }
  /** The era for the clients of one backend. */
  serve(place: EraPlace): EraService
}

/** What the gateway states about itself. */
export interface Gateway {
  /** Clients have sessions. */
  readonly stateful: boolean
  /** There is a single target, which describes itself. */
  readonly only: boolean
  /** All revisions that the gateway supports. */
  readonly versions: readonly string[]
}

export type Refusing = (answer: Answer, id: RequestId, what: string) => void

export interface EraPlace {
  readonly setup: McpSetup
  readonly store: SessionStore
  readonly router: Router
  readonly shared: SharedTargets
  readonly eras: readonly Era[]
  /** Of all eras. */
  readonly versions: readonly string[]
}

/** Serves the clients of one era. */
export interface EraService {
  /** Admits a message to its conversation, or refuses it through `answer`. */
  admit(message: Message, outline: JsonOutline, answer: Answer): void
  /** Serves paths and HTTP methods specific to this era. False if the request is neither. */
  claims?(x: Exchange, answer: Answer): boolean
}
