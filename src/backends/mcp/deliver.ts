import type { JsonOutline } from '../../mcp/json-outline.ts'
import type { Message } from '../../mcp/message.ts'
import type { Answer } from './answer.ts'
import type { Conversation } from './conversation.ts'
import { relayNotification, relayResponse } from './relay.ts'
import type { Router } from './router.ts'
import type { McpSetup } from './setup.ts'

/** Delivers a client's message within its conversation. */
export function deliver(
  setup: McpSetup,
  router: Router,
  conversation: Conversation,
  message: Message,
  outline: JsonOutline,
  answer: Answer,
): void {
  if (message.kind === 'request') router.route(conversation, message, outline, answer)
  else if (message.kind === 'notification') relayNotification(setup, conversation, message, outline, answer)
  else relayResponse(setup, conversation, message, outline, answer)
}
