import type { Callee } from '../../calls/outcall.ts'
import { GatewayError } from '../../http/errors.ts'
import { type ConnectionFacts, emptyHead } from '../../http/exchange.ts'
import { cel, def, integer, list, map, object, oneOf, opt, req, shapes } from '../../schema/builder.ts'
import { headerName } from '../../schema/scalars.ts'
import type { TraceScope } from '../../trace/trace-event.ts'
import { CHECK_TIMEOUT, httpCheck, httpRules } from '../parts/ext-authz/http-check.ts'
import { headerExpressions } from '../parts/header-expressions.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'
import { requestless } from './requestless.ts'

export const networkExtAuthz = definePolicy({
  name: 'networkExtAuthz',
  doc: 'Asks an authorization service about each connection.',
  attach: ['frontend'],
  guards: true,
  schema: object(
    'network external authorization',
    {
      ...targetFields,
      policies: targetPoliciesField,
      protocol: req(
        object('authorization protocol', {
          http: req(
            object('HTTP protocol', {
              path: opt(cel('connection', 'string'), 'Path of the check.'),
              body: opt(
                cel('connection', 'body'),
                'Body of the check, which is then a POST: text and bytes unchanged, other values as JSON.',
              ),
              includeResponseHeaders: opt(
                list(headerName, { max: 64 }),
                'Header fields of the response to set on each request of the connection, replacing those of the client.',
              ),
              addRequestHeaders: opt(
                headerExpressions('connection', 'string'),
                'Header fields of the check: name to expression.',
              ),
              metadata: opt(
                map(cel('connection', 'any'), { max: 64 }),
                'Variables under `extauthz` for each request of the connection: name to expression.',
              ),
            }),
            'A plain HTTP request; 200 allows.',
          ),
        }),
        'How the service is called: HTTP only.',
      ),
      failureMode: def(
        shapes({
          string: oneOf(['deny', 'allow']),
          object: object('failure mode', { denyWithStatus: req(integer(100, 599), 'Status of the refusal.') }),
        }),
        'deny',
        'What happens when the service cannot be reached; a refused connection is closed without a response, whatever the status.',
      ),
    },
    { exactlyOneOf: [TARGET_KINDS] },
  ),
  compile(spec, { callee: calleeOf, runtime }) {
    const { policies, failureMode, protocol } = spec
    const fails = typeof failureMode === 'string' ? failureMode === 'deny' : failureMode.denyWithStatus > 0
    const callee = calleeOf?.(spec, [], policies && { specs: policies, at: ['policies'] })
    if (callee === undefined) return { connection: () => false }
    const rules = httpRules(protocol.http, [])
    const method = rules.body ? 'POST' : 'GET'
    const timeout = callee.requestTimeout ?? CHECK_TIMEOUT
    async function admits(connection: ConnectionFacts, trace?: TraceScope): Promise<boolean> {
      const x = requestless(connection, trace, { request: { ...emptyHead(), method }, clock: runtime.clock })
      try {
        const { decision } = await httpCheck(callee as Callee, rules, x, undefined, timeout, runtime)
        if (decision.allowed) connection.admission = { changes: decision.changes, metadata: decision.metadata }
        return decision.allowed
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        return !fails && error.code !== 'extAuthz'
      }
    }
    return { connection: admits }
  },
})
