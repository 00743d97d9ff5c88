import { errorReply, INVALID_PARAMS, METHOD_NOT_FOUND } from '../../../../mcp/errors.ts'
import { rewriteResult } from '../../../../mcp/rewrite.ts'
import type { Era } from '../era.ts'
import { StatelessService } from './stateless-service.ts'

/** Each request stands for itself and says in `_meta` what a session would know. */
export const stateless: Era = {
  versions: ['2026-07-28'],
  introduction: 'server/discover',
  forAll: new Set(),
  toTarget: request => request,
  toClient: rewriteResult,
  describe: ({ id }) => errorReply(id, { code: METHOD_NOT_FOUND, message: 'method not found: server/discover' }),
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
