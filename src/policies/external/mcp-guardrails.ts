// Services that inspect MCP messages (specification, MCP guardrails).
import type { Path } from '../../diagnostics/diagnostic.ts'
import type { McpGuard } from '../../http/exchange.ts'
import {
  cel,
  def,
  type Infer,
  list,
  map,
  object,
  oneOf,
  opt,
  type Problem,
  req,
  serverRule,
} from '../../schema/builder.ts'
import { endpoint } from '../../schema/resource-references.ts'
import { pseudoHeaderName, set } from '../../schema/resource-scalars.ts'
import { asFields, asItems, type Fields } from '../../schema/untyped.ts'
import { type ClusterContext, defined, lower, type Policies, strings } from '../parts/cluster-form.ts'
import { type GuardedPhase, isMethodPattern, phaseFor } from '../parts/mcp-guardrails/method-phases.ts'
import { type CompileContext, definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields, targetPoliciesField } from '../upstream/policy-target.ts'

const processor = object(
  'MCP guardrail processor',
  {
    kind: req(oneOf(['remote']), 'Kind of processor.'),
    ...targetFields,
    policies: targetPoliciesField,
    methods: opt(
      map(oneOf(['off', 'request', 'response', 'full'])),
      'Method, `prefix*`, `*suffix` or `*` to the side to inspect; the most specific one wins, and methods that none matches are not inspected.',
    ),
    failureMode: def(
      oneOf(['failClosed', 'failOpen'], { FailClosed: 'failClosed', FailOpen: 'failOpen' }),
      'failClosed',
      'What happens when the service is unavailable.',
    ),
    metadata: opt(map(cel('mcp', 'any'), { max: 64 }), 'Metadata for the service: name to expression.'),
    requestHeaders: opt(
      object('forwarded headers', {
        allowed: opt(list(pseudoHeaderName, { max: 64 }), 'Header fields to send; all when empty.'),
        disallowed: opt(list(pseudoHeaderName, { max: 64 }), 'Header fields not to send, even if allowed.'),
      }),
      'Which header fields the service sees.',
    ),
  },
  { exactlyOneOf: [TARGET_KINDS] },
)

function methodPattern(pattern: string): Problem | undefined {
  if (isMethodPattern(pattern)) return undefined
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
          failureMode: def(oneOf(['FailClosed', 'FailOpen']), 'FailClosed', 'What happens when it cannot be reached.'),
          metadata: opt(map(cel('mcp', 'any'), { max: 64 }), 'Metadata for the service: name to expression.'),
          allowedRequestHeaders: opt(clusterHeaderNames, 'Header fields to send; all when empty.'),
          disallowedRequestHeaders: opt(clusterHeaderNames, 'Header fields never to send.'),
        },
        { exactlyOneOf: [server.group] },
      ),
      'A service to call.',
    ),
    methods: req(
      map(oneOf(['Off', 'Request', 'Response', 'Full']), { min: 1, max: 64, keys: methodPattern, rules: METHOD_RULES }),
      'Method or pattern to the phase in which the service is called.',
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
  spec: 'Guardrails',
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
  schema: object('MCP guardrails', {
    processors: req(list(processor, { min: 1, max: 16 }), 'Processors, in the order they run.'),
  }),
  compile: ({ processors }, ctx) => ({
    mcpGuards: processors.map((each, i) => guardOf(each, ['processors', i], ctx)),
  }),
})

type Spec = Infer<typeof processor>

function guardOf(spec: Spec, at: Path, ctx: CompileContext): McpGuard {
  const { methods = {}, metadata = {}, requestHeaders, failureMode } = spec
  reportIdle(methods, at, ctx)
  const callee = ctx.callee?.(spec, at)
  const { runtime } = ctx
  const phases = new Map<string, GuardedPhase>()
  const phaseOf = (method: string): GuardedPhase => {
    const known = phases.get(method)
    if (known !== undefined) return known
    const phase = phaseFor(method, methods)
    // Bounded, since clients choose method names.
    if (phases.size < MAX_METHODS) phases.set(method, phase)
    return phase
  }
  const looksAt: McpGuard['looksAt'] = (method, side) => {
    const phase = phaseOf(method)
    return phase === 'full' || phase === side
  }
  const { kind: name } = spec
  // The service is invalid, which has been reported.
  if (!callee) return { name, looksAt, check: async () => ({ action: 'fail', error: 'there is no such service' }) }
  const processor = {
    callee,
    failOpen: failureMode === 'failOpen',
    metadata,
    allowed: lowerCase(requestHeaders?.allowed),
    disallowed: lowerCase(requestHeaders?.disallowed),
  }
  const ask = ctx.serving(
    () => import('../parts/mcp-guardrails/ask-processor.ts'),
    ({ askProcessor }) => askProcessor,
  )
  return { name, looksAt, check: (x, checked) => ask.part(processor, x, checked, runtime) }
}

const MAX_METHODS = 256

function lowerCase(names: readonly string[] = []): ReadonlySet<string> {
  return new Set(names.map(name => name.toLowerCase()))
}

/** GW590: a guard that matches nothing gives a false sense of protection. */
function reportIdle(methods: Readonly<Record<string, GuardedPhase>>, at: Path, ctx: CompileContext): void {
  const idle = Object.keys(methods).find(pattern => !isMethodPattern(pattern))
  const off = Object.values(methods).every(phase => phase === 'off')
  if (idle === undefined && !off) return
  const written = Object.keys(methods).length > 0
  ctx.report({
    code: 'GW590',
    message: idle === undefined ? 'this processor inspects no methods' : `\`${idle}\` matches no method`,
    path: idle !== undefined ? [...at, 'methods', idle] : written ? [...at, 'methods'] : at,
    at: written ? 'key' : 'value',
    label: 'every message passes unchecked',
    help: "write a method, `prefix/*`, `*/suffix` or `*`, for example `methods: {'tools/call': full}`",
  })
}

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
