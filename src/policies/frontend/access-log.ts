import { cel, def, list, map, object, oneOf, opt, string } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'

const changes = {
  add: opt(map(cel('log', 'any')), 'Field name to expression.'),
  remove: opt(list(string({ min: 1 }), { max: 32 }), 'Names of default fields to leave out.'),
}
const otlp = object(
  'OTLP access log',
  {
    ...targetFields,
    policies: targetPoliciesField,
    filter: opt(cel('log', 'bool'), 'Which requests are sent.'),
    fields: opt(object('log fields', changes), 'Changes to the fields that are sent.'),
    protocol: def(oneOf(['grpc', 'http']), 'grpc', 'Protocol.'),
    path: def(string({ min: 1, pattern: /^\//, form: 'a path that starts with `/`' }), '/v1/logs', 'Path, over HTTP.'),
  },
  { exactlyOneOf: [TARGET_KINDS] },
)

export const accessLog = definePolicy({
  name: 'accessLog',
  doc: 'Which requests are logged, and with which fields.',
  attach: ['frontend'],
  unserved: 'Every request is logged to standard output with the default fields.',
  schema: object('access log', {
    filter: opt(cel('log', 'bool'), 'Which requests are logged; all when unset.'),
    ...changes,
    otlp: opt(otlp, 'Sends the log to a collector.'),
    database: opt(
      object('access log database', {
        llm: opt(oneOf(['metadata', 'full']), 'How much of LLM requests is kept.'),
        add: changes.add,
      }),
      'Keeps the log in the request database.',
    ),
  }),
  compile: () => ({}),
})
