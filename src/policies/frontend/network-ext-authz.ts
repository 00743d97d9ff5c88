import { cel, def, integer, list, map, object, oneOf, opt, req, shapes } from '../../schema/builder.ts'
import { headerName } from '../../schema/scalars.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'

export const networkExtAuthz = definePolicy({
  name: 'networkExtAuthz',
  doc: 'An authorization service decides about each connection.',
  attach: ['frontend'],
  unserved: 'The authorization service is not asked about connections yet: every client may connect.',
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
              body: opt(cel('connection', 'any'), 'Body of the check.'),
              includeResponseHeaders: opt(list(headerName, { max: 64 }), 'Header fields of the answer that are kept.'),
              addRequestHeaders: opt(
                map(cel('connection', 'string'), { max: 64 }),
                'Header fields of the check: name to expression.',
              ),
              metadata: opt(
                map(cel('connection', 'any'), { max: 64 }),
                'Variables under `extauthz`: name to expression.',
              ),
            }),
            'A plain HTTP request; 200 allows.',
          ),
        }),
        'How the service is asked: HTTP only.',
      ),
      failureMode: def(
        shapes({
          string: oneOf(['deny', 'allow']),
          object: object('failure mode', { denyWithStatus: req(integer(100, 599), 'Status of the refusal.') }),
        }),
        'deny',
        'What happens when the service cannot be asked.',
      ),
    },
    { exactlyOneOf: [TARGET_KINDS] },
  ),
  compile: () => ({}),
})
