import { list, map, type ObjectProblem, object, oneOf, opt, req, serverRule, string } from '../../schema/builder.ts'
import { GATEWAY_GROUP, INFERENCE_GROUP } from '../../schema/resource-references.ts'
import { groupName, kindName, labelKeyProblem, labelValue, refName, subdomain } from '../../schema/resource-scalars.ts'
import { all, missing, problem } from '../../schema/rules.ts'
import { port } from '../../schema/scalars.ts'
import { backendFull } from './parts/backend-policies.ts'
import { FOR_WHOLE_GATEWAY, frontend, PER_LISTENER } from './parts/frontend.ts'
import { traffic } from './parts/traffic.ts'
import { conditionColumn, conditions, defineKind } from './resource.ts'

const place = {
  sectionName: opt(subdomain, 'One part of the target: a listener, a route rule, a port or a sub-backend.'),
  port: opt(port, 'One port of a Gateway, for frontend policies.'),
}
const alone = { atMostOneOf: [['sectionName', 'port']] }
const targetRef = object(
  'policy target',
  {
    group: req(groupName, 'The API group; empty for a Service.'),
    kind: req(kindName, 'The kind.'),
    name: req(refName, 'The name, in the policy’s namespace.'),
    ...place,
  },
  { ...alone, refers: { to: 'target', kind: 'Gateway' } },
)
const targetSelector = object(
  'policy target selector',
  {
    group: req(groupName, 'The API group; empty for a Service.'),
    kind: req(kindName, 'The kind.'),
    matchLabels: req(map(labelValue, { keys: labelKeyProblem }), 'Labels that the targets have.'),
    ...place,
  },
  { ...alone, refers: { to: 'selector', kind: 'Gateway' } },
)

interface Target {
  readonly group: string
  readonly kind: string
  readonly sectionName?: string
  readonly port?: number
}
interface Spec {
  readonly targetRefs?: readonly Target[]
  readonly targetSelectors?: readonly Target[]
  readonly strategy?: { readonly inheritance?: string }
  readonly frontend?: Readonly<Record<string, unknown>>
  readonly traffic?: Readonly<Record<string, unknown>>
  readonly backend?: Readonly<Record<string, unknown>>
}

const TARGETS: Readonly<Record<string, string>> = {
  Service: '',
  Gateway: GATEWAY_GROUP,
  HTTPRoute: GATEWAY_GROUP,
  GRPCRoute: GATEWAY_GROUP,
  ListenerSet: GATEWAY_GROUP,
  InferencePool: INFERENCE_GROUP,
}
const TRAFFIC_TARGETS = ['Gateway', 'HTTPRoute', 'GRPCRoute', 'ListenerSet', 'InferencePool']
const BACKEND_KINDS = ['ProxyBackend', 'AgentgatewayBackend']
const AGENTGATEWAY = 'agentgateway.dev'

function isTarget({ kind, group }: Target): boolean {
  if (kind === 'ProxyBackend') return group !== ''
  if (kind === 'AgentgatewayBackend') return group === AGENTGATEWAY
  return Object.hasOwn(TARGETS, kind) && TARGETS[kind] === group
}

/** Checks one target at a time; problems are reported at the target's field. */
type TargetRule = (
  target: Target,
  spec: Spec,
) => { readonly field: string; readonly problem: Partial<ObjectProblem> & { readonly message: string } } | undefined

const TARGET_RULES: readonly TargetRule[] = [
  target =>
    isTarget(target)
      ? undefined
      : {
          field: 'kind',
          problem: {
            code: 'GW402',
            message: `policies cannot target the kind \`${target.kind}\` of group \`${target.group}\``,
            help: `targets: ${Object.keys(TARGETS).join(', ')} and ProxyBackend, each with its own group`,
          },
        },
  (target, { frontend }) =>
    frontend && target.kind !== 'Gateway'
      ? {
          field: 'kind',
          problem: { code: 'GW402', message: `\`frontend\` can target only a Gateway, not a ${target.kind}` },
        }
      : undefined,
  (target, { frontend }) => {
    const whole = Object.keys(frontend ?? {}).find(name => !PER_LISTENER.includes(name))
    if (target.kind !== 'Gateway' || target.sectionName === undefined || whole === undefined) return undefined
    const message = `\`frontend.${whole}\` holds for a whole Gateway: it cannot name a listener`
    return { field: 'sectionName', problem: { code: 'GW402', message } }
  },
  (target, { traffic, backend }) =>
    target.port !== undefined && (traffic || backend || target.kind !== 'Gateway')
      ? { field: 'port', problem: { message: '`port` is only for frontend policies that target a Gateway' } }
      : undefined,
  (target, { traffic }) =>
    traffic && !TRAFFIC_TARGETS.includes(target.kind)
      ? { field: 'kind', problem: { code: 'GW402', message: `\`traffic\` cannot target a ${target.kind}` } }
      : undefined,
  (target, { traffic }) =>
    traffic?.phase === 'PreRouting' &&
    TRAFFIC_TARGETS.includes(target.kind) &&
    !['Gateway', 'ListenerSet'].includes(target.kind)
      ? {
          field: 'kind',
          problem: {
            code: 'GW403',
            message: `the PreRouting phase needs a Gateway or a ListenerSet, not a ${target.kind}`,
          },
        }
      : undefined,
  (target, { backend }) => {
    const section = ['mcp', 'ai'].find(name => backend?.[name] !== undefined)
    return section && target.kind === 'Service'
      ? { field: 'kind', problem: { code: 'GW402', message: `\`backend.${section}\` cannot target a Service` } }
      : undefined
  },
  (target, { backend }) =>
    backend?.mcp && BACKEND_KINDS.includes(target.kind) && target.sectionName !== undefined
      ? {
          field: 'sectionName',
          problem: { code: 'GW402', message: '`backend.mcp` cannot target one section of a backend' },
        }
      : undefined,
  target =>
    target.kind === 'Service' && target.sectionName !== undefined && !isPort(target.sectionName)
      ? {
          field: 'sectionName',
          problem: { message: `\`${target.sectionName}\` is not a port number: the section of a Service is its port` },
        }
      : undefined,
]

/** Holds if all targets, bound to `t`, satisfy the condition, in each of the lists. */
const targetsFit = (condition: string) =>
  ['targetRefs', 'targetSelectors']
    .map(list => `(!has(self.${list}) || self.${list}.all(t, ${condition}))`)
    .join(' && ')
const anyOf = (names: readonly string[]) => `[${names.map(name => `'${name}'`).join(', ')}]`
const TARGET_KINDS = [
  ...Object.entries(TARGETS).map(([kind, group]) => `(t.kind == '${kind}' && t.group == '${group}')`),
  "(t.kind == 'ProxyBackend' && t.group != '')",
  `(t.kind == 'AgentgatewayBackend' && t.group == '${AGENTGATEWAY}')`,
].join(' || ')
const PORT_NUMBER = '^0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$'
const SPEC_RULES = [
  serverRule(targetsFit(TARGET_KINDS), `targets are ${Object.keys(TARGETS).join(', ')} and backends`),
  serverRule(
    ['targetRefs', 'targetSelectors']
      .map(list => `(!has(self.${list}) || self.${list}.all(t, t.kind == self.${list}[0].kind))`)
      .join(' && '),
    'all targets of a policy must be of one kind',
  ),
  serverRule(`!has(self.frontend) || (${targetsFit("t.kind == 'Gateway'")})`, 'frontend can target only a Gateway'),
  serverRule(
    `!has(self.frontend) || !(${FOR_WHOLE_GATEWAY.map(name => `has(self.frontend.${name})`).join(' || ')}) || (${targetsFit('!has(t.sectionName)')})`,
    `only ${PER_LISTENER.join(', ')} of frontend can name a listener`,
  ),
  serverRule(
    targetsFit("!has(t.port) || (t.kind == 'Gateway' && !has(self.traffic) && !has(self.backend))"),
    'port is only for frontend policies that target a Gateway',
  ),
  serverRule(
    `!has(self.traffic) || (${targetsFit(`t.kind in ${anyOf(TRAFFIC_TARGETS)}`)})`,
    `traffic can target only ${TRAFFIC_TARGETS.join(', ')}`,
  ),
  serverRule(
    `!has(self.traffic) || self.traffic.phase != 'PreRouting' || (${targetsFit("t.kind in ['Gateway', 'ListenerSet']")})`,
    'the PreRouting phase needs a Gateway or a ListenerSet',
  ),
  serverRule(
    `!has(self.backend) || (!has(self.backend.mcp) && !has(self.backend.ai)) || (${targetsFit("t.kind != 'Service'")})`,
    'backend.mcp and backend.ai cannot target a Service',
  ),
  serverRule(
    `!has(self.backend) || !has(self.backend.mcp) || (${targetsFit(`!(t.kind in ${anyOf(BACKEND_KINDS)}) || !has(t.sectionName)`)})`,
    'backend.mcp cannot target one section of a backend',
  ),
  serverRule(
    targetsFit(`t.kind != 'Service' || !has(t.sectionName) || t.sectionName.matches('${PORT_NUMBER}')`),
    'the section of a Service is its port number',
  ),
  serverRule(
    '!has(self.traffic) || !has(self.traffic.jwtAuthentication) || !has(self.backend) || !has(self.backend.mcp) || !has(self.backend.mcp.authentication)',
    'backend.mcp.authentication cannot be combined with traffic.jwtAuthentication',
  ),
  serverRule(
    '!has(self.strategy) || !has(self.strategy.inheritance) || (has(self.traffic) && !has(self.frontend) && !has(self.backend))',
    'strategy.inheritance is only for policies with traffic alone',
  ),
]

function isPort(text: string): boolean {
  return /^[0-9]+$/.test(text) && Number(text) >= 1 && Number(text) <= 65535
}

function targetRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  const spec = value as Spec
  const list = spec.targetRefs ? 'targetRefs' : 'targetSelectors'
  const targets = spec[list] ?? []
  const problems: ObjectProblem[] = []
  targets.forEach((target, index) => {
    // The first rule that a target violates explains the others.
    for (const rule of TARGET_RULES) {
      const broken = rule(target, spec)
      if (!broken) continue
      problems.push({ path: [list, index, broken.field], at: 'value', ...broken.problem })
      return
    }
    if (target.kind !== targets[0]!.kind) {
      const message = `all targets of a policy are of one kind: this is a ${target.kind}, the first is a ${targets[0]!.kind}`
      problems.push({ path: [list, index, 'kind'], at: 'value', message })
    }
  })
  return problems
}

function sectionRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  const { traffic, frontend, backend, strategy } = value as Spec
  const problems: ObjectProblem[] = []
  const mcp = backend?.mcp as { readonly authentication?: unknown } | undefined
  if (traffic?.jwtAuthentication && mcp?.authentication) {
    const message =
      '`backend.mcp.authentication` verifies tokens itself: it cannot be combined with `traffic.jwtAuthentication`'
    problems.push(problem(['backend', 'mcp', 'authentication'], message))
  }
  if (strategy?.inheritance !== undefined) {
    if (!traffic) problems.push(missing('traffic', '`strategy.inheritance` is only for policies with `traffic`'))
    else if (frontend || backend) {
      const message = '`strategy.inheritance` cannot be combined with `frontend` or `backend`'
      problems.push(problem(['strategy', 'inheritance'], message))
    }
  }
  return problems
}

const spec = object(
  'policy',
  {
    targetRefs: opt(list(targetRef, { min: 1, max: 16 }), 'What the policy applies to, by name.'),
    targetSelectors: opt(list(targetSelector, { min: 1, max: 16 }), 'What the policy applies to, by labels.'),
    strategy: opt(
      object('policy strategy', {
        inheritance: opt(oneOf(['Default', 'Override']), 'Whether narrower policies may override this one.'),
      }),
      'How the policy merges with others.',
    ),
    frontend: opt(frontend, 'How incoming connections are handled.'),
    traffic: opt(traffic, 'How requests are processed.'),
    backend: opt(backendFull, 'How backends are connected to.'),
  },
  {
    exactlyOneOf: [['targetRefs', 'targetSelectors']],
    atLeastOneOf: [['traffic', 'frontend', 'backend']],
    check: all(targetRules, sectionRules),
    rules: SPEC_RULES,
  },
)

const ancestor = object('policy ancestor status', {
  ancestorRef: req(
    object('ancestor reference', {
      group: opt(groupName, 'The API group.'),
      kind: opt(kindName, 'The kind.'),
      name: req(refName, 'The name.'),
      namespace: opt(string({ min: 1, max: 63 }), 'The namespace.'),
      ...place,
    }),
    'The ancestor.',
  ),
  controllerName: req(string({ min: 1, max: 253 }), 'Controller that wrote the status.'),
  conditions: req(conditions(1), 'The conditions; `Accepted` and `Attached` among them.'),
})

export const proxyPolicy = defineKind(
  {
    kind: 'ProxyPolicy',
    group: AGENTGATEWAY,
    versions: ['v1alpha1'],
    own: {
      alias: 'AgentgatewayPolicy',
      aliasGroup: AGENTGATEWAY,
      short: 'pxpol',
      aliasShort: 'agpol',
      columns: [
        conditionColumn('Accepted', '.status.ancestors[*].conditions'),
        conditionColumn('Attached', '.status.ancestors[*].conditions'),
      ],
      attaches: true,
    },
    namespaced: true,
  },
  {
    spec: req(spec, 'What the policy applies to and what it says.'),
    status: opt(
      object('policy status', { ancestors: opt(list(ancestor, { max: 16 }), 'The status for each ancestor.') }),
      'Written by the controller.',
    ),
  },
)
