import type { Calls } from './call.ts'
import type { Era } from './eras/era.ts'
import type { Targets } from './targets.ts'

/** What a client's message is part of: a session, or nothing but itself. */
export interface Conversation {
  readonly era: Era
  readonly targets: Targets
  readonly calls: Calls
  /** What passes the stream of a target on, so that its events can be told from those of other clients. */
  seal?(): (chunk: Buffer) => Buffer
  /** Where the only target got a request as it was, without anybody knowing whether it takes such. */
  readonly doubt?: Doubt
}

/** `refused` passes on what the target has answered. */
export type Doubt = (refused: () => void) => void
