// Services that look at MCP messages on their way (specification, MCP guardrails).
import { cel, def, list, map, object, oneOf, opt, req } from '../../schema/builder.ts'
import { headerName } from '../../schema/scalars.ts'
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

export const mcpGuardrails = definePolicy({
  name: 'mcpGuardrails',
  doc: 'Services that check and change MCP messages.',
  attach: ['route', 'backend'],
  perBackend: true,
  unserved:
    'MCP guardrail services are not called yet: every message would pass unchecked. `mcpAuthorization` limits what may be used.',
  schema: object('MCP guardrails', {
    processors: req(list(processor, { min: 1, max: 16 }), 'Processors, in the order they run.'),
  }),
  compile: () => ({}),
})
