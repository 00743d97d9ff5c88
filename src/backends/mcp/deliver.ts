import type { JsonOutline } from '../../mcp/json-outline.ts'
import type { Message } from '../../mcp/message.ts'
import type { Answer } from './answer.ts'
import { relayNotification, relayResponse } from './relay.ts'
import type { Router } from './router.ts'
import type { Session } from './session.ts'
import type { McpSetup } from './setup.ts'

/** A client's message in an open session. */
export function deliver(
  setup: McpSetup,
  router: Router,
  session: Session,
  message: Message,
  outline: JsonOutline,
  answer: Answer,
): void {
  if (message.kind === 'request') router.route(session, message, outline, answer)
  else if (message.kind === 'notification') relayNotification(setup, session, message, outline, answer)
  else relayResponse(setup, session, message, outline, answer)
}
