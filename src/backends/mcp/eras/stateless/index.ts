import { describeServers } from '../../../../mcp/discover.ts'
import {
  HEADER_MISMATCH,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  UNSUPPORTED_VERSION,
} from '../../../../mcp/errors.ts'
import { type Request, readMessage } from '../../../../mcp/message.ts'
import { STATELESS_VERSION } from '../../../../mcp/protocol.ts'
import { introducedBy, withRequestMeta } from '../../../../mcp/request-meta.ts'
import type { Era } from '../era.ts'
import { UNCACHED } from './older-target.ts'
import { StatelessService } from './stateless-service.ts'

const DISCOVER = readMessage(Buffer.from('{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{}}')) as Request

/** Each request is self-contained and carries in `_meta` what a session would hold. */
export const stateless: Era = {
  versions: [STATELESS_VERSION],
  introduction: 'server/discover',
  forAll: new Set(),
  asksClients: false,
  pageMembers: UNCACHED,
  greet: ({ params }) => ({
    era: stateless,
    request: withRequestMeta(DISCOVER, STATELESS_VERSION, introducedBy(params)),
    version: STATELESS_VERSION,
    probe: true,
  }),
  ownRequest: request => withRequestMeta(request, STATELESS_VERSION),
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
