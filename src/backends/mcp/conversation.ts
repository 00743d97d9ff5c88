import type { Calls } from './call.ts'
import type { Era } from './eras/era.ts'
import type { Targets } from './targets.ts'

/** What a client's message is part of: a session, or nothing but itself. */
export interface Conversation {
  readonly era: Era
  readonly targets: Targets
  readonly calls: Calls
}
