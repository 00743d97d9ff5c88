import type { Reply } from '../../../http/exchange.ts'

/** Browser clients of any origin may read the documents, which contain no secret and need no credential. */
export function corsFields(method: 'GET' | 'POST'): readonly string[] {
  return [
    ...['access-control-allow-origin', '*', 'access-control-allow-methods', `${method}, OPTIONS`],
    ...['access-control-allow-headers', 'content-type, authorization, mcp-protocol-version'],
  ]
}

export function jsonReply(status: number, body: unknown, fields: readonly string[]): Reply {
  return {
    status,
    headers: ['content-type', 'application/json', ...fields],
    body: JSON.stringify(body),
    reason: 'DirectResponse',
  }
}
