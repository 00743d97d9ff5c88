import type { Request } from '../../mcp/message.ts'
import type { ClientFacts } from '../../mcp/request-meta.ts'
import type { Answer } from './answer.ts'
import type { Calls } from './call.ts'
import type { Era } from './eras/era.ts'
import type { Targets } from './targets.ts'

/** The context of a client's message: a session, or the single request. */
export interface Conversation {
  readonly era: Era
  readonly targets: Targets
  readonly calls: Calls
  /** What the client has said of itself. */
  readonly facts: ClientFacts
  /** The client's stream for unsolicited messages, if it has one. */
  readonly stream?: Answer | undefined
  /** Sets the handshake with targets, including those that reconnect. */
  greetWith?(initialize: Request): void
  /** Returns the transform for a target's stream that binds its events to this client. */
  seal?(): (chunk: Buffer) => Buffer
  /** Set where the only target got a request unchanged, and it is unknown whether the target supports it. */
  readonly doubt?: Doubt
}

/** `refused` forwards the target's response. */
export type Doubt = (refused: () => void) => void
