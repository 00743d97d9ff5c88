import { describeServers } from '../../../../mcp/discover.ts'
import {
  HEADER_MISMATCH,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  UNSUPPORTED_VERSION,
} from '../../../../mcp/errors.ts'
import { parseExact } from '../../../../mcp/exact-json.ts'
import { LIST_METHODS } from '../../../../mcp/lists.ts'
import { isObject, type JsonObject, type Request, readMessage } from '../../../../mcp/message.ts'
import { withRequestMeta } from '../../../../mcp/request-meta.ts'
import { rewriteResult } from '../../../../mcp/rewrite.ts'
import type { Era } from '../era.ts'
import { StatelessService } from './stateless-service.ts'

const VERSION = '2026-07-28'
const DISCOVER = readMessage(Buffer.from('{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{}}')) as Request

/** Each request stands for itself and says in `_meta` what a session would know. */
export const stateless: Era = {
  versions: [VERSION],
  introduction: 'server/discover',
  forAll: new Set(),
  asksClients: false,
  pageMembers: { resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
  greet: () => ({ era: stateless, request: withRequestMeta(DISCOVER, VERSION), version: VERSION }),
  toTarget: request => withRequestMeta(request, VERSION),
  toClient({ target, era, method, response }, naming) {
    const bytes = rewriteResult(target, response, naming)
    if (era === stateless || response.failed) return bytes
    const value = parseExact(bytes.toString()) as JsonObject
    return isObject(value.result)
      ? Buffer.from(JSON.stringify({ ...value, result: { ...membersFor(method), ...value.result } }))
      : bytes
  },
  describe: ({ id }, introductions, { versions }) => describeServers(id, introductions, versions),
  statuses: new Map([
    [METHOD_NOT_FOUND, 404],
    [HEADER_MISMATCH, 400],
    [MISSING_CAPABILITY, 400],
    [UNSUPPORTED_VERSION, 400],
  ]),
  refusals: {
    unknownMethod(answer, id, method) {
      answer.fail(404, id, { code: METHOD_NOT_FOUND, message: `method not found: ${method}` })
    },
    unknownName(answer, id, name) {
      answer.fail(400, id, { code: INVALID_PARAMS, message: `no target serves \`${name}\`` })
    },
  },
  serve: place => new StatelessService(stateless, place),
}

/** What results of older servers lack. */
function membersFor(method: string): JsonObject {
  const cacheable = method === 'resources/read' || Object.hasOwn(LIST_METHODS, method)
  return cacheable ? stateless.pageMembers : { resultType: 'complete' }
}
