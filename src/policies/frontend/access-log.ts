// Which requests are logged, to which sinks and with which fields (specification, AccessLog).

import { cel, def, object, oneOf, opt, string } from '../../schema/builder.ts'
import { asFields, type Fields } from '../../schema/untyped.ts'
import { byName, type ClusterContext, defined, lower, type Policies, strings } from '../parts/cluster-form.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'
import { attributes, collector, EXPORT_RULES, exportFields, exportRules, filter } from './cluster/exports.ts'
import { changeFields, collectorOf, computedFields, fieldChanges } from './telemetry.ts'

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

const inCluster = object('access log', {
  filter,
  attributes: opt(attributes, 'Changes to the fields.'),
  otlp: opt(
    object(
      'log export',
      { ...exportFields, filter, attributes: opt(attributes, 'Changes to the fields.') },
      { exactlyOneOf: [collector.group], check: exportRules, rules: EXPORT_RULES },
    ),
    'Sends entries to a collector.',
  ),
})

export const accessLog = definePolicy({
  name: 'accessLog',
  doc: 'Which requests are logged, and with which fields.',
  spec: 'AccessLog',
  cluster: [
    { section: 'frontend', member: 'accessLog', field: opt(inCluster, 'What is logged about requests.'), convert },
  ],
  attach: ['frontend'],
  schema: object(
    'access log',
    {
      filter: opt(cel('log', 'bool'), 'Which requests are logged; all when unset.'),
      ...changeFields,
      otlp: opt(otlp, 'Sends the log to a collector.'),
      database: opt(
        object('request database rules', {
          llm: opt(
            oneOf(['metadata', 'full']),
            'How much of LLM requests is stored; with `full`, prompts and answers too.',
          ),
          add: changeFields.add,
        }),
        'What `config.database` stores of each request.',
      ),
    },
    { instead: { format: 'write `config: {logging: {format: json}}`' } },
  ),
  compile(spec, ctx) {
    const log = { ...fieldChanges(spec), filter: spec.filter }
    const kept = computedFields(spec.database?.add)
    if (spec.database?.llm === 'full') {
      const message = 'prompts and answers are not kept yet: only `metadata` is served'
      ctx.report({ code: 'GW601', message, path: ['database', 'llm'], at: 'value' })
    }
    if (spec.otlp === undefined) return { accessLog: { log, kept } }
    const { filter, fields } = spec.otlp
    const collector = collectorOf(spec.otlp, 'logs', ['otlp'], ctx)
    if (collector === undefined) return { accessLog: { log, kept } }
    const rules = { ...(fields ? fieldChanges(fields) : log), filter: filter ?? log.filter }
    return { accessLog: { log, kept, sent: { ...rules, ...collector } } }
  },
})

function convert(part: Fields, ctx: ClusterContext): Policies {
  const otlp = asFields(part.otlp)
  const target = otlp && ctx.target(otlp, 'failed to translate access log backend')
  if (otlp && !target) ctx.lose(otlp, 'entries are not sent: the collector cannot be called')
  return defined({
    filter: part.filter,
    ...changes(part.attributes),
    otlp:
      otlp &&
      target &&
      defined({
        ...target,
        protocol: lower(otlp.protocol === undefined ? 'grpc' : String(otlp.protocol).toLowerCase()),
        path: otlp.path ?? ctx.urlPath(otlp),
        filter: otlp.filter,
        fields: otlp.attributes && changes(otlp.attributes),
      }),
  })
}

function changes(value: unknown): Policies {
  const part = asFields(value)
  return part ? defined({ add: byName(part.add, 'expression'), remove: strings(part.remove) }) : {}
}
