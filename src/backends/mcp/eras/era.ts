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
 * Revisions of MCP that share one idea of a conversation: who begins it, what belongs to it, and what a request says
 * about itself. `index.ts` lists them.
 */
export interface Era {
  /** Oldest first; revisions order as text. */
  readonly versions: readonly string[]
  /** The request with which a client asks who it speaks to. */
  readonly introduction: string
  /** Requests that every target hears of and that are answered with an empty result. */
  readonly forAll: ReadonlySet<string>
  /** Targets may send requests to clients. */
  readonly asksClients: boolean
  /** What every page of a list says of itself, unless its targets do. */
  readonly pageMembers: JsonObject
  /** How a target of this era is greeted for the client that `initialize` speaks for. */
  greet(initialize: Request): Greeting
  /** A request of the gateway itself, as clients of this era make theirs. */
  ownRequest(request: Request): Request
  /** The reply to `introduction` in the name of several targets. */
  describe(request: Request, introductions: readonly Introduction[], about: Gateway): string
  /** HTTP status of errors that targets answer with, by their code; others come as events. */
  readonly statuses: ReadonlyMap<unknown, number>
  /** How a request is refused that no target can be found for. */
  readonly refusals: {
    readonly unknownMethod: Refusing
    readonly unknownName: Refusing
  }
  /** The era for the clients of one backend. */
  serve(place: EraPlace): EraService
}

/** What the gateway says of itself beside its targets. */
export interface Gateway {
  /** Clients keep sessions. */
  readonly stateful: boolean
  /** There is one target, which speaks for itself. */
  readonly only: boolean
  /** Every revision that it carries. */
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

/** Answers clients of one era. */
export interface EraService {
  /** Takes a message in: into what it belongs to, or `answer` says why not. */
  admit(message: Message, outline: JsonOutline, answer: Answer): void
  /** Answers what only this era knows: another path, another HTTP method. False: it is nothing of the kind. */
  claims?(x: Exchange, answer: Answer): boolean
}
