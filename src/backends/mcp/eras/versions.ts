import { UNSUPPORTED_VERSION } from '../../../mcp/errors.ts'
import type { Message } from '../../../mcp/message.ts'
import type { Answer } from '../answer.ts'

/** `supported`: the revisions to offer instead. */
export function refuseVersion(message: Message, requested: string, supported: readonly string[], answer: Answer): void {
  const initialize = message.kind === 'request' && message.method === 'initialize'
  answer.fail(400, message.kind === 'request' ? message.id : null, {
    code: UNSUPPORTED_VERSION,
    message: `unsupported MCP protocol version: ${requested.slice(0, 64)}`,
    ...(initialize ? {} : { data: { supported, requested: requested.slice(0, 64) } }),
  })
}
