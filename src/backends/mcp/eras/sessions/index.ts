import { errorReply, INTERNAL_ERROR, METHOD_NOT_FOUND } from '../../../../mcp/errors.ts'
import { mergeIntroductions } from '../../../../mcp/initialize.ts'
import { LATEST_SESSION_VERSION } from '../../../../mcp/protocol.ts'
import type { Era } from '../era.ts'
import { greetingOf } from './client-session.ts'
import { SessionService } from './session-service.ts'

/** A client opens a session with `initialize` and ends it with DELETE; targets may send it requests. */
export const sessions: Era = {
  versions: ['2024-11-05', '2025-03-26', '2025-06-18', LATEST_SESSION_VERSION],
  introduction: 'initialize',
  forAll: new Set(['ping', 'logging/setLevel']),
  asksClients: true,
  pageMembers: {},
  ownRequest: request => request,
  greet: request => greetingOf(sessions, request),
  describe({ id, params }, introductions, { stateful, only }) {
    const { protocolVersion } = params
    const clientVersion = sessions.versions.find(version => version === protocolVersion)
    return mergeIntroductions(id, introductions, { clientVersion, stateful, only })
  },
  statuses: new Map(),
  refusals: {
    unknownMethod(answer, id, method) {
      answer.finalEvent(errorReply(id, { code: METHOD_NOT_FOUND, message: `method not found: ${method}` }))
    },
    unknownName(answer, id, name) {
      answer.fail(500, id, { code: INTERNAL_ERROR, message: `failed to send message: no target serves \`${name}\`` })
    },
  },
  serve: place => new SessionService(sessions, place),
}
