import type { AnyPolicy } from '../../../policies/fields.ts'
import { frontendPolicies, trafficPolicies } from '../../../policies/index.ts'
import type { ClusterForm, ClusterSection } from '../../../policies/parts/cluster-form.ts'
import type { Field } from '../../../schema/builder.ts'

/** A member of a policy section, with the standalone policy that it becomes. */
export interface ClusterMember {
  readonly policy: AnyPolicy
  readonly form: ClusterForm
}

/** In the order of the specification; members that it does not list follow, in policy execution order. */
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

/** By section. Several may share a name: policies that come from the same member. */
export const MEMBERS: Readonly<Record<ClusterSection, readonly ClusterMember[]>> = {
  traffic: membersOf('traffic'),
  frontend: membersOf('frontend'),
  backend: membersOf('backend'),
  mcp: membersOf('mcp'),
}

/** The declarations of the members of a section. `on`: only those that can be attached there. */
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

/** Standalone policies whose rules accumulate across declarations. */
export const ACCUMULATING: ReadonlySet<string> = new Set(
  POLICIES.filter(({ accumulates }) => accumulates === true).map(({ name }) => name),
)

/** Standalone policies, and fields of them, whose absence would permit or disclose more than the resource intends. */
export const GUARDS: ReadonlySet<string> = new Set([
  ...POLICIES.flatMap(({ name, guards }) => (guards === true ? [name] : (guards ?? []))),
  'guardrails', // of a model of `llm`
])
