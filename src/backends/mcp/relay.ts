import { INTERNAL_ERROR } from '../../mcp/errors.ts'
import { type JsonOutline, replaceJson } from '../../mcp/json-outline.ts'
import type { Notification, RequestId, Response } from '../../mcp/message.ts'
import { splitId } from '../../mcp/names.ts'
import type { Answer } from './answer.ts'
import type { TargetFailure } from './connection.ts'
import type { Conversation } from './conversation.ts'
import type { McpSetup } from './setup.ts'
import type { Link } from './targets.ts'

/** Relays a client's notification to the target that it concerns, or to all. */
export function relayNotification(
  setup: McpSetup,
  conversation: Conversation,
  message: Notification,
  outline: JsonOutline,
  answer: Answer,
): void {
  answer.x.trace?.emit({ type: 'mcp', method: message.method })
  if (message.method === 'notifications/cancelled') {
    relayCancellation(setup, conversation, message, answer)
    return
  }
  const range = outline.ranges.get('params.progressToken')
  if (setup.multiple && message.method === 'notifications/progress' && range) {
    const owner = splitId(message.params.progressToken)
    const link = owner && conversation.targets.link(owner.target)
    if (!link) {
      answer.accepted()
      return
    }
    send(setup, conversation, [link], replaceJson(message.bytes, range, owner.name), answer)
    return
  }
  send(setup, conversation, conversation.targets.links, message.bytes, answer)
}

/** Relays a client's response to the target that sent the request. Unknown ids are dropped. */
export function relayResponse(
  setup: McpSetup,
  conversation: Conversation,
  message: Response,
  outline: JsonOutline,
  answer: Answer,
): void {
  if (!setup.multiple) {
    send(setup, conversation, conversation.targets.links, message.bytes, answer)
    return
  }
  const owner = splitId(message.id)
  const link = owner && conversation.targets.link(owner.target)
  const range = outline.ranges.get('id')
  if (!link || !range) {
    answer.accepted()
    return
  }
  send(setup, conversation, [link], replaceJson(message.bytes, range, owner.name), answer)
}

/** Relays a cancellation to the targets that process the request. They will not answer it, so its stream ends here. */
function relayCancellation(setup: McpSetup, conversation: Conversation, message: Notification, answer: Answer): void {
  const id = message.params.requestId as RequestId
  const running = conversation.calls.get(id)
  if (running?.method === 'initialize') {
    answer.accepted()
    return
  }
  if (!running) {
    // The only target may know a request whose reply is passed through unparsed.
    setup.multiple ? answer.accepted() : send(setup, conversation, conversation.targets.links, message.bytes, answer)
    return
  }
  send(setup, conversation, [...running.parts.keys()], message.bytes, answer)
  conversation.calls.cancel(id, true)
  running.answer.end()
}

function send(
  setup: McpSetup,
  conversation: Conversation,
  links: readonly Link[],
  bytes: Buffer,
  answer: Answer,
): void {
  let missing = links.length
  const settle = (link: Link, lost?: TargetFailure): void => {
    missing--
    // A target without a user has nobody to tell.
    const failure = lost?.need ? undefined : lost
    if (failure?.down) conversation.targets.down(link, failure)
    if (failure && !setup.failOpen) refuse(answer, failure)
    else if (missing === 0) answer.accepted()
  }
  if (missing === 0) {
    answer.accepted()
    return
  }
  for (const link of links) {
    conversation.targets.ready(link, answer.x, failure => {
      if (failure || !link.connection) settle(link, failure)
      else link.connection.send(answer.x, bytes, lost => settle(link, lost))
    })
  }
}

function refuse(answer: Answer, failure: TargetFailure): void {
  if (failure.http) answer.failWith(null, failure)
  else answer.fail(500, null, { code: INTERNAL_ERROR, message: `failed to send message: ${failure.message}` })
}
