import { asFields, asItems, asText, type Fields } from '../../../schema/untyped.ts'
import { canonical, labelsOf, selects } from '../../resources/graph.ts'
import type { Resource } from '../../resources/resource.ts'
import { backendRefsOf, idOf, specOf } from '../cluster-view.ts'

/** One object of the cluster: both are set where it has changed, one where it is new or gone. */
export interface Change {
  readonly before: Resource | undefined
  readonly after: Resource | undefined
}

export type ById = ReadonlyMap<string, Resource>

const ROUTES: ReadonlySet<string> = new Set(['HTTPRoute', 'GRPCRoute', 'TCPRoute', 'TLSRoute', 'UDPRoute'])
/** Kinds that are referenced and reference nothing themselves. */
const DATA: ReadonlySet<string> = new Set(['Service', 'EndpointSlice', 'Secret', 'ConfigMap', 'Namespace'])
/** Changed by the server on every write. */
const COUNTERS: ReadonlySet<string> = new Set(['generation', 'resourceVersion', 'managedFields'])

export function isRoute({ kind }: Resource): boolean {
  return ROUTES.has(kind.kind)
}

/**
 * Finds out who may use an object of the cluster. For routes it knows the Services that they reference; for everything
 * else only the words in it: an object whose name none of them contains is not used by them.
 */
export class Mentions {
  readonly #byService = new Map<string, Set<string>>()
  readonly #words = new Map<string, number>()
  /** Namespaces of the routes that others delegate to. */
  readonly #handed = new Map<string, number>()
  /** Number of objects that select others by label, by what they select. */
  readonly #choosing = { Service: 0, data: 0, Namespace: 0 }

  constructor(resources: Iterable<Resource>) {
    for (const each of resources) this.add(each)
  }

  add(resource: Resource): void {
    this.#count(resource, 1)
  }

  remove(resource: Resource): void {
    this.#count(resource, -1)
  }

  /** The routes that lead to a Service. */
  routesTo(service: string): Iterable<string> {
    return this.#byService.get(service) ?? []
  }

  /** Whether anything other than a route may use the object. */
  isMentioned({ kind, name = '' }: Pick<Resource, 'kind' | 'name'>): boolean {
    const { kind: of } = kind
    const group = of === 'Secret' || of === 'ConfigMap' ? 'data' : of === 'Namespace' ? 'Namespace' : 'Service'
    return this.#choosing[group] > 0 || this.#words.has(name)
  }

  /** Whether some route may delegate to this one. */
  mayHandTo({ namespace = '' }: Resource): boolean {
    return this.#handed.has(namespace)
  }

  #count(resource: Resource, by: 1 | -1): void {
    if (DATA.has(resource.kind.kind)) return
    if (isRoute(resource)) {
      const id = idOf(resource)
      for (const service of servicesOf(resource)) {
        const routes = this.#byService.get(service) ?? new Set()
        if (by === 1) routes.add(id)
        else routes.delete(id)
        this.#byService.set(service, routes)
      }
      for (const { kind, namespace } of backendRefsOf(resource)) {
        if (kind === 'HTTPRoute') addTo(this.#handed, asText(namespace) ?? resource.namespace ?? '', by)
      }
      return
    }
    const text = JSON.stringify(resource.raw.spec ?? {})
    if (/"(secret|configMap)Selector"/.test(text)) this.#choosing.data += by
    if (/"from":"Selector"/.test(text)) this.#choosing.Namespace += by
    const own = resource.kind.own !== undefined
    if (own && (/"selectors?"/.test(text) || targets(resource).some(({ kind, name }) => !name && kind === 'Service')))
      this.#choosing.Service += by
    for (const word of wordsIn(resource.raw.spec)) addTo(this.#words, word, by)
  }
}

function addTo(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

function wordsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value === 'string') for (const word of value.split(/[^-.\w]+/)) found.add(word)
  else if (Array.isArray(value)) for (const item of value) wordsIn(item, found)
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) wordsIn(item, found)
  return found
}

/** Ids of the Services that a route leads to. */
export function servicesOf(route: Resource): string[] {
  return backendRefsOf(route).flatMap(ref =>
    (asText(ref.kind) ?? 'Service') === 'Service'
      ? [`Service/${asText(ref.namespace) ?? route.namespace}/${String(ref.name)}`]
      : [],
  )
}

function targets(policy: Resource): readonly Fields[] {
  const { targetRefs, targetSelectors } = specOf(policy)
  return [...asItems(targetRefs), ...asItems(targetSelectors)]
}

/** Whether a policy targets routes only. */
export function isForRoutes(policy: Resource): boolean {
  const aimed = targets(policy)
  return aimed.length > 0 && aimed.every(({ kind }) => ROUTES.has(String(kind)))
}

export interface Concerned {
  /** Ids of the routes to recompile. */
  readonly routes: ReadonlySet<string>
  /** The policies that target them. */
  readonly policies: ReadonlySet<Resource>
  /** Some route may attach to other listeners than before. */
  readonly reattached: boolean
}

/** The routes that the changes affect; undefined if they may affect anything else, or more than `most` routes. */
export function concernedBy(
  changes: readonly Change[],
  all: ById,
  mentions: Mentions,
  most: number,
): Concerned | undefined {
  const routes = new Set<string>()
  let reattached = false
  for (const change of changes) {
    const one = (change.after ?? change.before)!
    const { kind } = one.kind
    if (isRoute(one)) {
      if (!affectsOnlyItself(change, all, mentions)) return undefined
      reattached ||= !attachesAlike(change)
      routes.add(idOf(one))
    } else if (kind === 'ProxyPolicy') {
      const aimed = [change.before, change.after].flatMap(each => (each ? targets(each) : []))
      if (aimed.some(target => !ROUTES.has(String(target.kind)))) return undefined
    } else if (kind === 'Service' || kind === 'EndpointSlice') {
      for (const service of servicesIn(change)) {
        if (mentions.isMentioned(service)) return undefined
        for (const route of mentions.routesTo(`Service/${service.namespace}/${service.name}`)) routes.add(route)
      }
    } else if (!DATA.has(kind) || mentions.isMentioned(one)) return undefined
  }
  const own = changes.flatMap(({ before, after }) => [before, after].filter(each => each?.kind.kind === 'ProxyPolicy'))
  const policies = aimedAt(routes, own as Resource[], changes, all, most)
  if (!policies || routes.size > most) return undefined
  const known = [...routes].map(id => all.get(id)).filter(each => each !== undefined)
  const alone = known.every(route => !delegates(specOf(route)) && !hasTwin(route, all))
  return alone ? { routes, policies, reattached } : undefined
}

/** The Service itself, or those whose endpoints a slice holds. */
function servicesIn({ before, after }: Change): Resource[] {
  return [before, after]
    .filter(each => each !== undefined)
    .map(each => {
      if (each.kind.kind === 'Service') return each
      return { ...each, name: String(labelsOf(each)['kubernetes.io/service-name']) }
    })
}

/**
 * The policies that target some of these routes. Their other target routes are added, since a policy has one status for
 * all its targets. Undefined if one of them targets anything else.
 */
function aimedAt(
  routes: Set<string>,
  own: readonly Resource[],
  changes: readonly Change[],
  all: ById,
  most: number,
): Set<Resource> | undefined {
  const policies = [...all.values()].filter(({ kind }) => kind.kind === 'ProxyPolicy')
  const gone = changes.flatMap(({ before, after }) => (before && !after ? [before] : []))
  const found = new Set<Resource>()
  const routeOf = (id: string) => all.get(id) ?? gone.find(each => idOf(each) === id)
  for (let size = -1; size !== routes.size && routes.size <= most; ) {
    size = routes.size
    for (const policy of [...policies, ...own]) {
      if (found.has(policy)) continue
      const aimed = targets(policy)
      const met = own.includes(policy) || [...routes].some(id => aimed.some(each => meets(routeOf(id), policy, each)))
      if (!met) continue
      if (aimed.some(({ kind }) => !ROUTES.has(String(kind)))) return undefined
      found.add(policy)
      for (const target of aimed) for (const id of meant(target, policy, all)) routes.add(id)
    }
  }
  return found
}

function meets(route: Resource | undefined, policy: Resource, target: Fields): boolean {
  if (!route || canonical(String(target.kind)) !== route.kind.kind || policy.namespace !== route.namespace) return false
  if (target.name !== undefined) return target.name === route.name
  return selects({ matchLabels: { ...asFields(target.matchLabels) } as Record<string, string> }, labelsOf(route))
}

function meant(target: Fields, policy: Resource, all: ById): string[] {
  if (target.name !== undefined) {
    const id = `${String(target.kind)}/${policy.namespace}/${String(target.name)}`
    return all.has(id) ? [id] : []
  }
  return [...all.values()].filter(each => isRoute(each) && meets(each, policy, target)).map(idOf)
}

/** Whether no other route and no other object's status is affected by the change. */
function affectsOnlyItself(change: Change, all: ById, mentions: Mentions): boolean {
  const { before, after } = change
  const route = (after ?? before)!
  const { kind } = route.kind
  // Routes of connections are tried in order, so their position matters.
  if (kind !== 'HTTPRoute' && kind !== 'GRPCRoute') return false
  if (before && after && identity(before) !== identity(after)) return false
  if (hasTwin(route, all)) return false
  const versions = [before, after].filter(each => each !== undefined)
  if (versions.some(each => delegates(specOf(each))) || mentions.mayHandTo(route)) return false
  return attachesAlike(change) || versions.every(each => reachesRoutesAlone(each, mentions))
}

/** Whether a route of another kind has its name: both become routes of the file, or one of them is renamed. */
function hasTwin({ kind, namespace, name }: Resource, all: ById): boolean {
  return [...ROUTES].some(other => other !== kind.kind && all.has(`${other}/${namespace}/${name}`))
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
function reachesRoutesAlone(route: Resource, mentions: Mentions): boolean {
  return backendRefsOf(route).every(
    ref =>
      (asText(ref.kind) ?? 'Service') === 'Service' && !mentions.isMentioned({ kind: SERVICE, name: String(ref.name) }),
  )
}

const SERVICE = { kind: 'Service' } as Resource['kind']
