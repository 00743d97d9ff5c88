// Shared budgets in a rate limit service (specification, "Rate limiting": global).

import { cel, def, list, object, oneOf, opt, req, string } from '../../schema/builder.ts'
import { conditional, fallbackComesLast } from '../parts/conditional.ts'
import { convertGlobalLimits } from '../parts/rate-limits.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'

const entry = object('descriptor entry', {
  key: req(string({ min: 1, max: 256 }), 'Name of the entry.'),
  value: req(cel('request', 'any'), 'Gives its value, as text; anything else drops the descriptor.'),
})
const descriptor = object('descriptor', {
  entries: req(list(entry, { min: 1, max: 16 }), 'Entries, in the order that the service expects.'),
  type: def(oneOf(['requests', 'tokens']), 'requests', 'What is counted.'),
  cost: opt(cel('usage', 'number'), 'Units that a request costs; 1, or the tokens used, when unset.'),
  limitOverride: opt(cel('request', 'map'), '`{"unit": …, "requestsPerUnit": …}` in place of the service’s own limit.'),
})
const fields = {
  domain: req(string({ min: 1, max: 256 }), 'Domain of the limits in the service.'),
  ...targetFields,
  policies: targetPoliciesField,
  descriptors: req(list(descriptor, { min: 1, max: 16 }), 'What the service is asked about.'),
  failureMode: def(
    oneOf(['failClosed', 'failOpen'], { FailClosed: 'failClosed', FailOpen: 'failOpen' }),
    'failClosed',
    'What happens when the service cannot be asked.',
  ),
}
const optional = {
  ...fields,
  domain: opt(fields.domain.schema, fields.domain.doc),
  descriptors: opt(fields.descriptors.schema, fields.descriptors.doc),
}
const NAME = 'remote rate limit'

export const remoteRateLimit = definePolicy({
  name: 'remoteRateLimit',
  doc: 'A rate limit service keeps budgets over all replicas.',
  spec: 'Rate limiting',
  attach: ['route'],
  cluster: [{ section: 'traffic', member: 'rateLimit', convert: convertGlobalLimits }],
  beforeDeadline: true,
  guards: true,
  unserved:
    'The rate limit service is not asked yet: no shared limit would hold. `localRateLimit` limits each replica.',
  schema: object(
    NAME,
    { ...optional, conditional: conditional(NAME, fields, { exactlyOneOf: [TARGET_KINDS] }) },
    {
      exactlyOneOf: [[...TARGET_KINDS, 'conditional']],
      check: v => [...wholeWithoutConditions(v), ...fallbackComesLast(v)],
    },
  ),
  compile: () => ({}),
})

function wholeWithoutConditions(v: Record<string, unknown>) {
  if (v.conditional !== undefined) return []
  return ['domain', 'descriptors']
    .filter(field => v[field] === undefined)
    .map(field => ({
      path: [],
      at: 'parent' as const,
      message: `${NAME} lacks the required field \`${field}\``,
      label: `\`${field}\` is missing`,
    }))
}
