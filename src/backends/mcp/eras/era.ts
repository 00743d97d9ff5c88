import type { Exchange } from '../../../http/exchange.ts'
import type { Introduction } from '../../../mcp/initialize.ts'
import type { JsonOutline } from '../../../mcp/json-outline.ts'
import type { Naming } from '../../../mcp/lists.ts'
import type { Message, Request, RequestId, Response } from '../../../mcp/message.ts'
import type { Answer } from '../answer.ts'
import type { Router } from '../router.ts'
import type { McpSetup } from '../setup.ts'
import type { SessionStore } from './sessions/session-store.ts'

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
  /** A request of the client, as a target takes it. */
  toTarget(request: Request): Request
  /** The reply of one target, as the client takes it. */
  toClient(target: string, response: Response, naming: Naming): Buffer
  /** The reply to `introduction` in the name of several targets. */
  describe(request: Request, introductions: readonly Introduction[], stateful: boolean): string
  /** How a request is refused that no target can be found for. */
  readonly refusals: {
    readonly unknownMethod: Refusing
    readonly unknownName: Refusing
  }
  /** The era for the clients of one backend. */
  serve(place: EraPlace): EraService
}

export type Refusing = (answer: Answer, id: RequestId, what: string) => void

export interface EraPlace {
  readonly setup: McpSetup
  readonly store: SessionStore
  readonly router: Router
  /** Every revision that some era of the gateway carries. */
  readonly versions: readonly string[]
}

/** Answers clients of one era. */
export interface EraService {
  /** Takes a message in: into what it belongs to, or `answer` says why not. */
  admit(message: Message, outline: JsonOutline, answer: Answer): void
  /** Answers what only this era knows: another path, another HTTP method. False: it is nothing of the kind. */
  claims?(x: Exchange, answer: Answer): boolean
}
