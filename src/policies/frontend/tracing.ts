// Which requests are sampled, and with which attributes (specification, Tracing).

import type { Expression } from '../../cel/expression.ts'
import { boolean, cel, def, list, map, number, object, oneOf, opt, req, shapes, string } from '../../schema/builder.ts'
import { shortString } from '../../schema/scalars.ts'
import { asFields, asItems, type Fields } from '../../schema/untyped.ts'
import { byName, type ClusterContext, defined, type Policies, strings } from '../parts/cluster-form.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'
import {
  attributes,
  EXPORT_RULES,
  collector as exporter,
  exportFields,
  exportRules,
  filter,
} from './cluster/exports.ts'
import { collectorOf, computedFields, fieldChanges, type Sampling } from './telemetry.ts'

/** A ratio, a boolean, or an expression that returns either. */
export const sampling = shapes({ string: cel('request', 'sampling'), number: number(0, 1), boolean })

/** Not an attribute: the name of the root span. */
const SPAN_NAME = 'span.name'

const inCluster = object(
  'tracing',
  {
    ...exportFields,
    attributes: opt(attributes, 'Changes to the attributes of spans.'),
    resources: opt(
      list(
        object('resource attribute', {
          name: req(shortString, 'The name.'),
          expression: req(cel('log', 'any'), 'Expression for the value.'),
        }),
      ),
      'Attributes of the service.',
    ),
    randomSampling: opt(cel('request', 'sampling'), 'Share of new traces to record; none when unset.'),
    clientSampling: opt(cel('request', 'sampling'), 'Share of clients’ traces to record; all when unset.'),
    filter,
  },
  { exactlyOneOf: [exporter.group], check: exportRules, rules: EXPORT_RULES },
)

export const tracing = definePolicy({
  name: 'tracing',
  doc: 'Sends spans of requests to a collector.',
  spec: 'Tracing',
  cluster: [
    { section: 'frontend', member: 'tracing', field: opt(inCluster, 'What is traced about requests.'), convert },
  ],
  attach: ['frontend'],
  schema: object(
    'tracing',
    {
      ...targetFields,
      policies: targetPoliciesField,
      attributes: opt(map(cel('log', 'any')), 'Attributes of a span: name to expression. `span.name` names the span.'),
      resources: opt(map(cel('log', 'any')), 'Attributes of the process: name to expression.'),
      remove: opt(list(string({ min: 1 })), 'Names of default attributes to leave out.'),
      randomSampling: opt(sampling, 'Share of the requests without a trace that start one; none when unset.'),
      clientSampling: opt(sampling, 'Share of the requests with a trace that continue it; all when unset.'),
      filter: opt(cel('log', 'bool'), 'Which spans to send.'),
      path: def(
        string({ min: 1, pattern: /^\//, form: 'a path that starts with `/`' }),
        '/v1/traces',
        'Path, over HTTP.',
      ),
      protocol: def(oneOf(['grpc', 'http']), 'grpc', 'Protocol.'),
    },
    { exactlyOneOf: [TARGET_KINDS] },
  ),
  compile(spec, ctx) {
    const collector = collectorOf(spec, 'traces', [], ctx)
    if (collector === undefined) return {}
    const { [SPAN_NAME]: spanName, ...add } = spec.attributes ?? {}
    return {
      tracing: {
        ...fieldChanges({ add, remove: spec.remove }),
        spanName,
        resources: computedFields(spec.resources),
        random: share(spec.randomSampling, 0),
        client: share(spec.clientSampling, 1),
        filter: spec.filter,
        ...collector,
      },
    }
  },
})

function share(written: Expression | number | boolean | undefined, unset: number): Sampling {
  if (typeof written === 'boolean') return written ? 1 : 0
  return written ?? unset
}

function convert(part: Fields, ctx: ClusterContext): Policies | undefined {
  const target = ctx.target(part, 'failed to translate tracing backend')
  const attributes = asFields(part.attributes)
  const out = {
    ...target,
    protocol: part.protocol === undefined ? 'grpc' : String(part.protocol).toLowerCase(),
    path: part.path ?? ctx.urlPath(part),
    attributes: attributes && byName(attributes.add, 'expression'),
    remove: attributes && strings(attributes.remove),
    resources: asItems(part.resources).length > 0 ? byName(part.resources, 'expression') : undefined,
    randomSampling: part.randomSampling,
    clientSampling: part.clientSampling,
    filter: part.filter,
  }
  return target && defined(out)
}
