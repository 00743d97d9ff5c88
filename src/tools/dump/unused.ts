import type { DumpDocument } from '../config-dump/model.ts'

export interface Unused {
  readonly kind: 'backend' | 'listener' | 'policy' | 'routeGroup'
  readonly name: string
  readonly why: string
  readonly origin: string
}

/** Unreferenced objects, and policies without effect because narrower ones win everywhere. */
export function unusedOf(dump: DumpDocument): readonly Unused[] {
  const used = backendsNamedIn(dump)
  const listening = new Set(dump.routes.map(route => route.listener))
  return [
    ...dump.listeners
      .filter(({ key }) => !listening.has(key))
      .map(({ key, origin }) => ({ kind: 'listener' as const, name: key, why: 'it has no routes', origin })),
    ...dump.backends
      .filter(({ key }) => !used.has(key))
      .map(({ key, origin }) => ({ kind: 'backend' as const, name: key, why: 'nothing refers to it', origin })),
    ...(dump.idleRouteGroups ?? []).map(({ name, origin }) => ({
      kind: 'routeGroup' as const,
      name,
      why: 'no route delegates to it',
      origin,
    })),
    ...(dump.idlePolicies ?? []).map(({ name, origin }) => ({
      kind: 'policy' as const,
      name,
      why: 'nothing is its target',
      origin,
    })),
    ...overridden(dump),
  ]
}

/** Routes, models and policies all name a backend in a field of that name. */
function backendsNamedIn(value: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null) return found
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'backend' && typeof inner === 'string') found.add(inner)
    else backendsNamedIn(inner, found)
  }
  return found
}

function overridden(dump: DumpDocument): Unused[] {
  const holders = [
    ...dump.listeners.map(listener => listener.policies),
    ...dump.routes.flatMap(route => [route.policies, ...route.backends.map(use => use.policies)]),
  ]
  const inForce = new Set<string>()
  const lost = new Map<string, string>()
  for (const policies of holders) {
    for (const [name, use] of Object.entries(policies)) {
      for (const origin of use.origins) inForce.add(origin)
      for (const origin of use.overridden ?? []) lost.set(origin, name)
    }
  }
  return [...lost]
    .filter(([origin]) => !inForce.has(origin))
    .map(([origin, name]) => ({ kind: 'policy', name, why: 'narrower ones win wherever it applies', origin }))
}
