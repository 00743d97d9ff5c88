// Which requests are logged, where to and with which fields (specification, AccessLog).
import { cel, def, object, oneOf, opt, string } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'
import { changeFields, collectorOf, fieldChanges } from './telemetry.ts'

const otlp = object(
  'OTLP access log',
  {
    ...targetFields,
    policies: targetPoliciesField,
    filter: opt(cel('log', 'bool'), 'Which requests are sent; as for the log itself when unset.'),
    fields: opt(object('log fields', changeFields), 'Changes to the fields that are sent; as for the log when unset.'),
    protocol: def(oneOf(['grpc', 'http']), 'grpc', 'Protocol.'),
    path: def(string({ min: 1, pattern: /^\//, form: 'a path that starts with `/`' }), '/v1/logs', 'Path, over HTTP.'),
  },
  { exactlyOneOf: [TARGET_KINDS] },
)

export const accessLog = definePolicy({
  name: 'accessLog',
  doc: 'Which requests are logged, and with which fields.',
  spec: 'AccessLog',
  attach: ['frontend'],
  schema: object('access log', {
    filter: opt(cel('log', 'bool'), 'Which requests are logged; all when unset.'),
    ...changeFields,
    otlp: opt(otlp, 'Sends the log to a collector.'),
    database: opt(
      object('access log database', {
        llm: opt(oneOf(['metadata', 'full']), 'How much of LLM requests is kept.'),
        add: changeFields.add,
      }),
      'Keeps the log in the request database.',
      { unserved: 'The request log database is not served.' },
    ),
  }),
  compile(spec, ctx) {
    const log = { ...fieldChanges(spec), filter: spec.filter }
    if (spec.otlp === undefined) return { accessLog: { log } }
    const { filter, fields } = spec.otlp
    const collector = collectorOf(spec.otlp, 'logs', ['otlp'], ctx)
    if (collector === undefined) return { accessLog: { log } }
    const rules = { ...(fields ? fieldChanges(fields) : log), filter: filter ?? log.filter }
    return { accessLog: { log, sent: { ...rules, ...collector } } }
  },
})
