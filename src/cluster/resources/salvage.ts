import { asFields, type Fields } from '../../schema/untyped.ts'
import { GUARDS, MEMBERS } from '../kinds/parts/members.ts'
import type { Resource } from './resource.ts'

const NOBODY = { action: 'Deny', policy: { matchExpressions: ['true'] } }
/** What takes the place of a section's guards that cannot be read: it refuses everybody. */
const CLOSED: Readonly<Record<string, Fields>> = {
  traffic: { authorization: NOBODY },
  backend: { extAuth: { backendRef: { name: 'unreadable-guard', port: 1 } } },
  frontend: { networkAuthorization: NOBODY },
}
const GUARDING: ReadonlySet<string> = new Set(
  Object.values(MEMBERS).flatMap(members =>
    members.flatMap(({ policy, form }) => (GUARDS.has(policy.name) ? [form.member] : [])),
  ),
)

/**
 * A policy, backend or model without the parts that have mistakes, so that an API server that accepts more than we know, such
 * as the fields of a newer release, does not switch off the rest. A guard that cannot be read refuses every request.
 * Undefined if nothing can be kept.
 */
export function salvaged(resource: Resource): Resource | undefined {
  const { kind, raw } = resource
  const spec = asFields(raw.spec)
  if (!spec) return undefined
  if (kind.kind === 'ProxyBackend') return { ...resource, raw: { ...raw, spec: {} } }
  if (kind.kind === 'ProxyModel' && !isBroken(resource, 'parentRefs'))
    return { ...resource, raw: { ...raw, spec: { parentRefs: spec.parentRefs } } }
  if (kind.kind !== 'ProxyPolicy') return undefined
  const { targetRefs, targetSelectors, strategy } = spec
  const kept: Record<string, unknown> = { targetRefs, targetSelectors }
  if (!isBroken(resource, 'strategy')) kept.strategy = strategy
  if (['targetRefs', 'targetSelectors'].some(field => isBroken(resource, field))) return undefined
  for (const section of Object.keys(CLOSED)) {
    const members = Object.entries(asFields(spec[section]) ?? {})
    const sound = members.filter(([name]) => !isBroken(resource, section, name))
    const lost = members.filter(([name]) => isBroken(resource, section, name))
    const open = lost.every(([name, value]) => !guards(name, value))
    if (members.length > 0) kept[section] = { ...Object.fromEntries(sound), ...(open ? {} : CLOSED[section]) }
  }
  return { ...resource, raw: { ...raw, spec: kept } }
}

/** Whether a mistake is in this part, or in something that holds it. */
function isBroken({ mistakes, path }: Resource, ...part: readonly string[]): boolean {
  const at = [...path, 'spec', ...part]
  return mistakes.some(mistake => mistake.slice(0, at.length).every((step, i) => step === at[i]))
}

function guards(name: string, value: unknown): boolean {
  return GUARDING.has(name) || Object.keys(asFields(value) ?? {}).some(inner => GUARDING.has(inner))
}
