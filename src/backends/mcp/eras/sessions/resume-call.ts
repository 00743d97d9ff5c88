import { errorReply, INTERNAL_ERROR, type RpcError } from '../../../../mcp/errors.ts'
import type { StreamPosition } from '../../../../mcp/event-id.ts'
import { type RequestId, requestOf } from '../../../../mcp/message.ts'
import { rewriteResult } from '../../../../mcp/rewrite.ts'
import type { Answer } from '../../answer.ts'
import { type CallEvents, timeoutFor } from '../../connection.ts'
import type { Router } from '../../router.ts'
import type { McpSetup } from '../../setup.ts'
import type { ClientSession } from './client-session.ts'

const LOST: RpcError = {
  code: INTERNAL_ERROR,
  message: 'the call can no longer be resumed: neither the gateway nor its target kept it',
}

/**
 * Resumes a call whose stream is not kept here, after the last event that its client received, if its target supports
 * that.
 */
export function resumeCall(
  setup: McpSetup,
  router: Router,
  session: ClientSession,
  { id, targets }: { readonly id: RequestId; readonly targets: StreamPosition['targets'] },
  answer: Answer,
): void {
  const { naming } = setup
  const { x } = answer
  const [[target = '', event = ''] = []] = targets
  const link = session.targets.link(target)
  const lost = (): void => answer.finalEvent(errorReply(id, LOST))
  // Messages that may not have passed a guard are withheld.
  if (!link || x.mcpGuards.length > 0) {
    lost()
    return
  }
  answer.open()
  session.targets.ready(link, x, failure => {
    if (answer.over) return
    const { connection } = link
    if (failure || !connection?.resume) {
      lost()
      return
    }
    // A client that resumes again has lost the previous stream.
    session.calls.cancel(id, true)
    const events: CallEvents = {
      flow: answer,
      position: (at, silent) => answer.at(target, at, silent),
      message: message => router.tell(session, link, message, answer),
      reply: response => answer.finalEvent(rewriteResult(target, response, naming)),
      fail: lost,
    }
    const take = (passing: CallEvents) => connection.resume?.(x, id, event, passing) ?? (() => {})
    session.calls.start(link, requestOf(id, 'tools/call', {}), answer, timeoutFor(x), events, take)
    answer.onLeave(() => session.calls.cancel(id))
  })
}
