// Services that look at MCP messages on their way (specification, MCP guardrails).
import { cel, def, list, map, object, oneOf, opt, type Problem, req, serverRule } from '../../schema/builder.ts'
import { endpoint } from '../../schema/resource-references.ts'
import { pseudoHeaderName, set } from '../../schema/resource-scalars.ts'
import { headerName } from '../../schema/scalars.ts'
import { asFields, asItems, type Fields } from '../../schema/untyped.ts'
import { type ClusterContext, defined, lower, type Policies, strings } from '../parts/cluster-form.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'

const processor = object(
  'MCP guardrail processor',
  {
    kind: req(oneOf(['remote']), 'Kind of processor.'),
    ...targetFields,
    policies: targetPoliciesField,
    methods: opt(
      map(oneOf(['off', 'request', 'response', 'full'])),
      'Method pattern to the side that is looked at; `*` is every method.',
    ),
    failureMode: def(
      oneOf(['failClosed', 'failOpen'], { FailClosed: 'failClosed', FailOpen: 'failOpen' }),
      'failClosed',
      'What happens when the service cannot be asked.',
    ),
    metadata: opt(map(cel('mcp', 'any'), { max: 64 }), 'Sent along: name to expression.'),
    requestHeaders: opt(
      object('forwarded headers', {
        allowed: opt(list(headerName, { max: 64 }), 'Header fields that are sent along.'),
        disallowed: opt(list(headerName, { max: 64 }), 'Header fields that are not.'),
      }),
      'Which header fields the service sees.',
    ),
  },
  { exactlyOneOf: [TARGET_KINDS] },
)

function methodPattern(pattern: string): Problem | undefined {
  const star = pattern.indexOf('*')
  if (
    pattern.length > 0 &&
    (star < 0 || (star === pattern.lastIndexOf('*') && (star === 0 || star === pattern.length - 1)))
  ) {
    return undefined
  }
  return {
    message: `\`${pattern}\` is not a method pattern`,
    help: 'write a method, `prefix/*`, `*/suffix` or `*`',
  }
}

const METHOD_RULES = [
  serverRule(
    "self.all(m, m != '' && (!m.contains('*') || (m.indexOf('*') == m.lastIndexOf('*') && (m.startsWith('*') || m.endsWith('*')))))",
    'a method pattern has one * at most, at its start or end',
  ),
]

const server = endpoint({ urlPath: false, what: 'The guardrail service' })
const clusterHeaderNames = set(pseudoHeaderName, { max: 64 })
const clusterProcessor = object(
  'MCP guardrail processor',
  {
    remote: opt(
      object(
        'remote MCP guardrail',
        {
          ...server.fields,
          failureMode: def(oneOf(['FailClosed', 'FailOpen']), 'FailClosed', 'What happens when it cannot be asked.'),
          metadata: opt(map(cel('mcp', 'any'), { max: 64 }), 'Sent along: name to expression.'),
          allowedRequestHeaders: opt(clusterHeaderNames, 'Header fields sent along; all when empty.'),
          disallowedRequestHeaders: opt(clusterHeaderNames, 'Header fields never sent along.'),
        },
        { exactlyOneOf: [server.group] },
      ),
      'A service that is asked.',
    ),
    methods: req(
      map(oneOf(['Off', 'Request', 'Response', 'Full']), { min: 1, max: 64, keys: methodPattern, rules: METHOD_RULES }),
      'Method or pattern to the phase in which the service is asked.',
    ),
  },
  { exactlyOneOf: [['remote']] },
)
const inCluster = object('MCP guardrails', {
  processors: req(list(clusterProcessor, { min: 1, max: 16 }), 'Services that see the messages, in order.'),
})

export const mcpGuardrails = definePolicy({
  name: 'mcpGuardrails',
  doc: 'Services that check and change MCP messages.',
  cluster: [
    {
      section: 'mcp',
      member: 'guardrails',
      field: opt(inCluster, 'Guards of MCP messages.'),
      convert: (part, ctx) => ({ processors: asItems(part.processors).map(each => convertProcessor(each, ctx)) }),
    },
  ],
  guards: true,
  attach: ['route', 'backend'],
  perBackend: true,
  unserved:
    'MCP guardrail services are not called yet: every message would pass unchecked. `mcpAuthorization` limits what may be used.',
  schema: object('MCP guardrails', {
    processors: req(list(processor, { min: 1, max: 16 }), 'Processors, in the order they run.'),
  }),
  compile: () => ({}),
})

function convertProcessor(part: Fields, ctx: ClusterContext): Policies {
  const remote = asFields(part.remote) ?? {}
  const methods = asFields(part.methods) ?? {}
  const headers = defined({
    allowed: strings(remote.allowedRequestHeaders),
    disallowed: strings(remote.disallowedRequestHeaders),
  })
  return defined({
    kind: 'remote',
    ...(ctx.target(remote, 'failed to build mcp guardrail') ?? { host: 'guardrail.invalid:80' }),
    methods: Object.fromEntries(Object.entries(methods).map(([name, phase]) => [name, lower(phase)])),
    failureMode: lower(remote.failureMode),
    metadata: remote.metadata && { ...(remote.metadata as Fields) },
    requestHeaders: Object.keys(headers).length > 0 ? headers : undefined,
  })
}
