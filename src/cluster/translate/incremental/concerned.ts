import { asFields, asItems, asText, type Fields } from '../../../schema/untyped.ts'
import { collectReferences } from '../../resources/collect-references.ts'
import { canonical, labelsOf, selects } from '../../resources/graph.ts'
import type { Resource } from '../../resources/resource.ts'
import { backendRefsOf, idOf, specOf } from '../cluster-view.ts'
import {
  type Change,
  type Inventory,
  isData,
  isForRoutes,
  isRoute,
  isRouteKind,
  ROUTE_KINDS,
  serviceOf,
  targetsOf,
} from './inventory.ts'

/** Changed by the server on every write. */
const COUNTERS: ReadonlySet<string> = new Set(['generation', 'resourceVersion', 'managedFields'])

export interface Concerned {
  /** Ids of the routes to recompile. */
  readonly routes: ReadonlySet<string>
  /** The policies that target them. */
  readonly policies: ReadonlySet<Resource>
  /** The ProxyBackends to recompile. */
  readonly backends: ReadonlySet<Resource>
  /** Some route may attach to other listeners than before. */
  readonly reattached: boolean
}

/** The routes that the changes affect; undefined if they may affect anything else, or more than `most` routes. */
export function concernedBy(changes: readonly Change[], all: Inventory, most: number): Concerned | undefined {
  const found: Found = { routes: new Set(), policies: new Set(), backends: new Set() }
  let reattached = false
  for (const change of changes) {
    const { before, after } = change
    const one = (after ?? before)!
    if (isRoute(one)) {
      if (!affectsOnlyItself(change, all)) return undefined
      reattached ||= !attachesAlike(change)
      found.routes.add(idOf(one))
    } else if (one.kind.kind === 'ProxyPolicy') {
      const versions = [before, after].filter(each => each !== undefined)
      if (!versions.every(isForRoutes)) return undefined
      for (const each of versions) found.policies.add(each)
    } else if (one.kind.kind === 'ProxyBackend') {
      if (!before || !after || !refersAlike(before, after)) return undefined
      found.backends.add(after)
      if (!reach(after, all, found)) return undefined
    } else if (!isData(one) || ![before, after].every(each => !each || reach(each, all, found))) return undefined
  }
  const policies = aimedAt(found, changes, all, most)
  if (!policies || found.routes.size > most) return undefined
  const known = [...found.routes].map(id => all.get(id)).filter(each => each !== undefined)
  const alone = known.every(route => !delegates(specOf(route)) && !hasTwin(route, all))
  return alone ? { routes: found.routes, policies, backends: found.backends, reattached } : undefined
}

interface Found {
  readonly routes: Set<string>
  readonly policies: Set<Resource>
  readonly backends: Set<Resource>
}

/** Adds whatever uses an object, directly or through a backend. False if that includes more than routes. */
function reach(used: Resource, all: Inventory, found: Found): boolean {
  const { kind } = used.kind
  const named = kind === 'EndpointSlice' ? `Service/${used.namespace}/${serviceOf(used)}` : idOf(used)
  for (const route of all.routesTo(named)) found.routes.add(route)
  for (const user of all.usersOf(used)) {
    // It says how to verify endpoints, whichever they are.
    if (kind === 'EndpointSlice' && user.kind.kind === 'BackendTLSPolicy') continue
    if (user.kind.kind === 'ProxyBackend') {
      if (found.backends.has(user)) continue
      found.backends.add(user)
      if (!reach(user, all, found)) return false
    } else if (user.kind.kind === 'ProxyPolicy' && isForRoutes(user)) found.policies.add(user)
    else if (user.kind.kind === 'InferencePool' && kind === 'EndpointSlice')
      for (const route of all.routesTo(idOf(user))) found.routes.add(route)
    else return false
  }
  return true
}

/** Whether both versions lead to the same objects, so that the statuses of those stay. */
function refersAlike(before: Resource, after: Resource): boolean {
  const shown = (each: Resource) =>
    JSON.stringify(collectReferences(each).map(({ refers, value }) => [refers.to, value]))
  return identity(before) === identity(after) && shown(before) === shown(after)
}

/**
 * The policies that target some of these routes. Their other target routes are added, since a policy has one status for
 * all its targets. Undefined if one of them targets anything else.
 */
function aimedAt(
  { routes, policies: own }: Found,
  changes: readonly Change[],
  all: Inventory,
  most: number,
): Set<Resource> | undefined {
  const policies = [...all.list('ProxyPolicy')]
  const gone = changes.flatMap(({ before, after }) => (before && !after ? [before] : []))
  const found = new Set<Resource>()
  const routeOf = (id: string) => all.get(id) ?? gone.find(each => idOf(each) === id)
  const meetsSome = (policy: Resource, target: Fields) =>
    target.name === undefined
      ? [...routes].some(id => meets(routeOf(id), policy, target))
      : routes.has(targetId(target, policy))
  for (let size = -1; size !== routes.size && routes.size <= most; ) {
    size = routes.size
    for (const policy of [...policies, ...own]) {
      if (found.has(policy)) continue
      const aimed = targetsOf(policy)
      if (!own.has(policy) && !aimed.some(each => meetsSome(policy, each))) continue
      if (aimed.some(({ kind }) => !isRouteKind(String(kind)))) return undefined
      found.add(policy)
      for (const target of aimed) for (const id of meant(target, policy, all)) routes.add(id)
    }
  }
  return found
}

function targetId(target: Fields, policy: Resource): string {
  return `${String(target.kind)}/${policy.namespace}/${String(target.name)}`
}

function meets(route: Resource | undefined, policy: Resource, target: Fields): boolean {
  if (!route || canonical(String(target.kind)) !== route.kind.kind || policy.namespace !== route.namespace) return false
  if (target.name !== undefined) return target.name === route.name
  return selects({ matchLabels: { ...asFields(target.matchLabels) } as Record<string, string> }, labelsOf(route))
}

function meant(target: Fields, policy: Resource, all: Inventory): string[] {
  if (target.name !== undefined) {
    const id = targetId(target, policy)
    return all.has(id) ? [id] : []
  }
  return [...all.routes()].filter(each => meets(each, policy, target)).map(idOf)
}

/** Whether no other route and no other object's status is affected by the change. */
function affectsOnlyItself(change: Change, all: Inventory): boolean {
  const { before, after } = change
  const route = (after ?? before)!
  const { kind } = route.kind
  // Routes of connections are tried in order, so their position matters.
  if (kind !== 'HTTPRoute' && kind !== 'GRPCRoute') return false
  if (before && after && identity(before) !== identity(after)) return false
  if (hasTwin(route, all)) return false
  const versions = [before, after].filter(each => each !== undefined)
  if (versions.some(each => delegates(specOf(each))) || all.mayHandTo(route)) return false
  return attachesAlike(change) || versions.every(each => reachesRoutesAlone(each, all))
}

/** Whether a route of another kind has its name: both become routes of the file, or one of them is renamed. */
function hasTwin({ kind, namespace, name }: Resource, all: Inventory): boolean {
  return ROUTE_KINDS.some(other => other !== kind.kind && all.has(`${other}/${namespace}/${name}`))
}

function identity({ raw }: Resource): string {
  const metadata = Object.entries(asFields(raw.metadata) ?? {}).filter(([key]) => !COUNTERS.has(key))
  return JSON.stringify([raw.apiVersion, Object.fromEntries(metadata)])
}

/** Routes that delegate, may be delegated to, or serve models are translated together with those. */
function delegates(spec: Fields): boolean {
  const parents = asItems(spec.parentRefs)
  if (parents.length === 0 || parents.some(({ kind }) => asText(kind) === 'HTTPRoute')) return true
  const refs = asItems(spec.rules).flatMap(rule => asItems(rule.backendRefs))
  return refs.some(({ kind }) => ['HTTPRoute', 'ProxyModel', 'AgentgatewayModel'].includes(String(kind)))
}

/** Attachments are counted at the parents, and references decide which backend policies apply. */
function attachesAlike({ before, after }: Change): boolean {
  if (!before || !after) return false
  const shown = (route: Resource) => {
    const { parentRefs, hostnames, rules } = specOf(route)
    const refs = asItems(rules).flatMap(({ backendRefs, filters }) => [
      ...asItems(backendRefs).map(({ weight: _, filters: own, ...ref }) => [ref, mirrors(own)]),
      mirrors(filters),
    ])
    return JSON.stringify([parentRefs, hostnames, refs])
  }
  return shown(before) === shown(after)
}

function mirrors(filters: unknown): unknown[] {
  return asItems(filters).flatMap(({ requestMirror, extensionRef }) => requestMirror ?? extensionRef ?? [])
}

/** Whether nothing but routes uses its backends: then no status depends on which Gateways reach them. */
function reachesRoutesAlone(route: Resource, all: Inventory): boolean {
  return backendRefsOf(route).every(
    ref =>
      (asText(ref.kind) ?? 'Service') === 'Service' && !all.isUsed({ ...route, kind: SERVICE, name: String(ref.name) }),
  )
}

const SERVICE = { kind: 'Service' } as Resource['kind']
