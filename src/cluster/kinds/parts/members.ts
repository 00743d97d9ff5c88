import type { AnyPolicy } from '../../../policies/fields.ts'
import { frontendPolicies, trafficPolicies } from '../../../policies/index.ts'
import type { ClusterForm, ClusterSection } from '../../../policies/parts/cluster-form.ts'
import type { Field } from '../../../schema/builder.ts'

/** A member of a section of a policy, and the standalone policy that is made of it. */
export interface ClusterMember {
  readonly policy: AnyPolicy
  readonly form: ClusterForm
}

/** As the specification lists them; what it does not name follows, in the order in which policies run. */
const ORDER: Readonly<Record<ClusterSection, readonly string[]>> = {
  traffic: [
    'transformation',
    'extProc',
    'extAuth',
    'rateLimit',
    'timeouts',
    'retry',
    'cors',
    'csrf',
    'headerModifiers',
    'hostRewrite',
    'authorization',
    'delay',
    'buffer',
    'directResponse',
    'jwtAuthentication',
    'basicAuthentication',
    'apiKeyAuthentication',
  ],
  frontend: ['tcp', 'networkAuthorization', 'connect', 'proxyProtocol', 'tls', 'http', 'accessLog', 'tracing'],
  backend: ['tcp', 'tls', 'http', 'tunnel', 'auth', 'health', 'transformation', 'ai'],
  mcp: ['authentication', 'authorization', 'guardrails'],
}

const POLICIES: readonly AnyPolicy[] = [...trafficPolicies, ...frontendPolicies]

function membersOf(section: ClusterSection): readonly ClusterMember[] {
  const rank = ({ form }: ClusterMember) => {
    const index = ORDER[section].indexOf(form.member)
    return index < 0 ? ORDER[section].length : index
  }
  return POLICIES.flatMap(policy => (policy.cluster ?? []).map(form => ({ policy, form })))
    .filter(({ form }) => form.section === section)
    .toSorted((a, b) => rank(a) - rank(b))
}

/** By section. Several may have one name: policies that are made of one member. */
export const MEMBERS: Readonly<Record<ClusterSection, readonly ClusterMember[]>> = {
  traffic: membersOf('traffic'),
  frontend: membersOf('frontend'),
  backend: membersOf('backend'),
  mcp: membersOf('mcp'),
}

/** The declarations of the members of a section; `on`: of those alone that may stand there. */
export function fieldsOf(
  section: ClusterSection,
  on?: ClusterForm['on'],
): Readonly<Record<string, Field<unknown, 'optional'>>> {
  return Object.fromEntries(
    MEMBERS[section]
      .filter(({ form }) => on === undefined || form.on === 'target' || form.on === on)
      .flatMap(({ form: { member, field } }) => (field ? [[member, field]] : [])),
  )
}

/** Standalone policies whose rules hold together, whoever wrote them. */
export const ACCUMULATING: ReadonlySet<string> = new Set(
  POLICIES.filter(({ accumulates }) => accumulates === true).map(({ name }) => name),
)

/** Standalone policies, and fields of them, without which more would be allowed, or be shown, than a resource says. */
export const GUARDS: ReadonlySet<string> = new Set([
  ...POLICIES.flatMap(({ name, guards }) => (guards === true ? [name] : (guards ?? []))),
  'guardrails', // of a model of `llm`
])
