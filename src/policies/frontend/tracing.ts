import { boolean, cel, def, list, map, number, object, oneOf, opt, shapes, string } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'

/** A share, all or nothing, or an expression that gives one of them. */
const sampling = shapes({ string: cel('request', 'sampling'), number: number(0, 1), boolean })

export const tracing = definePolicy({
  name: 'tracing',
  doc: 'Sends spans of requests to a collector.',
  attach: ['frontend'],
  unserved: 'Spans are not exported yet. `gwctl trace` follows requests live.',
  schema: object(
    'tracing',
    {
      ...targetFields,
      policies: targetPoliciesField,
      attributes: opt(map(cel('log', 'any')), 'Attributes of a span: name to expression.'),
      resources: opt(map(cel('log', 'any')), 'Attributes of the process: name to expression.'),
      remove: opt(list(string({ min: 1 })), 'Names of default attributes to leave out.'),
      randomSampling: opt(sampling, 'Share of the requests without a trace that start one; none when unset.'),
      clientSampling: opt(sampling, 'Share of the requests with a trace that go on with it; all when unset.'),
      filter: opt(cel('log', 'bool'), 'Which spans are sent.'),
      path: def(
        string({ min: 1, pattern: /^\//, form: 'a path that starts with `/`' }),
        '/v1/traces',
        'Path, over HTTP.',
      ),
      protocol: def(oneOf(['grpc', 'http']), 'grpc', 'Protocol.'),
    },
    { exactlyOneOf: [TARGET_KINDS] },
  ),
  compile: () => ({}),
})
