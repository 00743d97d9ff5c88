import { asItems, asText, type Fields } from '../../../schema/untyped.ts'
import { canonical, labelsOf } from '../../resources/graph.ts'
import type { Resource } from '../../resources/resource.ts'
import { backendRefsOf, idOf, specOf } from '../cluster-view.ts'

/** One object of the cluster: both are set where it has changed, one where it is new or gone. */
export interface Change {
  readonly before: Resource | undefined
  readonly after: Resource | undefined
}

export const ROUTE_KINDS: readonly string[] = ['HTTPRoute', 'GRPCRoute', 'TCPRoute', 'TLSRoute', 'UDPRoute']
/** Kinds that are referenced and reference nothing themselves. */
const DATA: ReadonlySet<string> = new Set(['Service', 'EndpointSlice', 'Secret', 'ConfigMap', 'Namespace'])
/** Kinds that never depend on what a Service is. */
const WITHOUT_SERVICES: ReadonlySet<string> = new Set(['Gateway', 'GatewayClass', 'ListenerSet', 'ProxyParameters'])

export function isRouteKind(kind: string): boolean {
  return ROUTE_KINDS.includes(kind)
}

export function isRoute({ kind }: Resource): boolean {
  return isRouteKind(kind.kind)
}

export function isData({ kind }: Resource): boolean {
  return DATA.has(kind.kind)
}

/** The parts of a policy that say what it applies to. */
export function targetsOf(policy: Resource): readonly Fields[] {
  const { targetRefs, targetSelectors } = specOf(policy)
  return [...asItems(targetRefs), ...asItems(targetSelectors)]
}

/** Whether a policy targets routes only. */
export function isForRoutes(policy: Resource): boolean {
  const aimed = targetsOf(policy)
  return aimed.length > 0 && aimed.every(({ kind }) => isRouteKind(String(kind)))
}

/** Ids of the backends that a route leads to. */
export function backendsOf(route: Resource): string[] {
  return backendRefsOf(route).map(
    ref =>
      `${canonical(asText(ref.kind) ?? 'Service')}/${asText(ref.namespace) ?? route.namespace}/${String(ref.name)}`,
  )
}

/** The Service whose endpoints a slice holds, or the Service itself. */
export function serviceOf(resource: Resource): string {
  return resource.kind.kind === 'EndpointSlice'
    ? String(labelsOf(resource)['kubernetes.io/service-name'])
    : (resource.name ?? '')
}

/** What selects objects by label: Services, Secrets and ConfigMaps, Namespaces. */
type Selectable = 'Service' | 'data' | 'Namespace'

/**
 * All objects of the cluster, and who may use which of them. For routes it knows the backends that they reference; for
 * everything else only the words in it: an object whose name none of them contains is not used by them.
 */
export class Inventory {
  readonly #all = new Map<string, Resource>()
  readonly #byKind = new Map<string, Map<string, Resource>>()
  /** EndpointSlices by `namespace/name` of their Service. */
  readonly #slices = new Index<Resource>()
  /** Ids of routes by backend. */
  readonly #byBackend = new Index<string>()
  /** By word in them. */
  readonly #words = new Index<Resource>()
  readonly #selecting = new Index<Resource>()
  /** Routes that delegate, by the namespace of the routes that they delegate to. */
  readonly #handing = new Index<Resource>()

  constructor(resources: Iterable<Resource>) {
    for (const after of resources) this.put({ before: undefined, after })
  }

  /** Until `settle`, a changed object also counts as using what it did before. */
  put({ before, after }: Change): void {
    const id = idOf((after ?? before)!)
    const ofKind = this.#byKind.get((after ?? before)!.kind.kind) ?? new Map<string, Resource>()
    this.#byKind.set((after ?? before)!.kind.kind, ofKind)
    if (after) {
      this.#all.set(id, after)
      ofKind.set(id, after)
      this.#note(after, 'add')
    } else {
      this.#all.delete(id)
      ofKind.delete(id)
    }
    if (before?.kind.kind === 'EndpointSlice') this.#note(before, 'delete')
  }

  settle({ before, after }: Change): void {
    if (!before || before.kind.kind === 'EndpointSlice') return
    this.#note(before, 'delete')
    // What both versions use.
    if (after) this.#note(after, 'add')
  }

  has(id: string): boolean {
    return this.#all.has(id)
  }

  get(id: string): Resource | undefined {
    return this.#all.get(id)
  }

  list(kind: string): Iterable<Resource> {
    return this.#byKind.get(kind)?.values() ?? []
  }

  *routes(): Iterable<Resource> {
    for (const kind of ROUTE_KINDS) yield* this.list(kind)
  }

  slicesOf(service: Resource): Iterable<Resource> {
    return this.#slices.get(`${service.namespace}/${service.name}`)
  }

  /** Everything but routes, what is referenced, and `others`. */
  *rest(others: ReadonlySet<string>): Iterable<Resource> {
    for (const [kind, all] of this.#byKind)
      if (!isRouteKind(kind) && !DATA.has(kind) && !others.has(kind)) yield* all.values()
  }

  /** Ids of the routes that lead to a backend. */
  routesTo(backend: string): Iterable<string> {
    return this.#byBackend.get(backend)
  }

  /** Objects other than routes that may use this one. */
  *usersOf(resource: Resource): Iterable<Resource> {
    const { kind } = resource.kind
    const services = kind === 'Service' || kind === 'EndpointSlice'
    const group = services ? 'Service' : kind === 'Namespace' ? 'Namespace' : 'data'
    if (DATA.has(kind)) yield* this.#selecting.get(group)
    for (const user of this.#words.get(services ? serviceOf(resource) : (resource.name ?? ''))) {
      // A grant is one whatever the object holds.
      const never = user.kind.kind === 'ReferenceGrant' || (services && WITHOUT_SERVICES.has(user.kind.kind))
      if (!never) yield user
    }
  }

  isUsed(resource: Resource): boolean {
    for (const _ of this.usersOf(resource)) return true
    return false
  }

  /** Whether some route may delegate to this one. */
  mayHandTo({ namespace = '' }: Resource): boolean {
    return this.#handing.has(namespace)
  }

  #note(resource: Resource, how: 'add' | 'delete'): void {
    if (resource.kind.kind === 'EndpointSlice')
      this.#slices[how](`${resource.namespace}/${serviceOf(resource)}`, resource)
    if (isData(resource)) return
    if (isRoute(resource)) {
      for (const backend of backendsOf(resource)) this.#byBackend[how](backend, idOf(resource))
      for (const { kind, namespace } of backendRefsOf(resource))
        if (kind === 'HTTPRoute') this.#handing[how](asText(namespace) ?? resource.namespace ?? '', resource)
      return
    }
    for (const selected of selectedBy(resource)) this.#selecting[how](selected, resource)
    for (const word of wordsIn(resource.raw.spec)) this.#words[how](word, resource)
  }
}

/** Sets by key. */
class Index<V> {
  readonly #sets = new Map<string, Set<V>>()

  has(key: string): boolean {
    return this.#sets.has(key)
  }

  get(key: string): Iterable<V> {
    return this.#sets.get(key) ?? []
  }

  add(key: string, value: V): void {
    const held = this.#sets.get(key)
    if (held) held.add(value)
    else this.#sets.set(key, new Set([value]))
  }

  delete(key: string, value: V): void {
    const held = this.#sets.get(key)
    held?.delete(value)
    if (held?.size === 0) this.#sets.delete(key)
  }
}

function selectedBy(resource: Resource): Selectable[] {
  const text = JSON.stringify(resource.raw.spec ?? {})
  const own = resource.kind.own !== undefined
  const aimed = own && targetsOf(resource).some(({ kind, name }) => !name && kind === 'Service')
  return [
    ...(/"(secret|configMap)Selector"/.test(text) ? ['data' as const] : []),
    ...(/"from":"Selector"/.test(text) || (own && /"namespaces"/.test(text)) ? ['Namespace' as const] : []),
    ...(aimed || (own && /"selectors?"/.test(text)) ? ['Service' as const] : []),
  ]
}

function wordsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value === 'string') for (const word of value.split(/[^-.\w]+/)) found.add(word)
  else if (Array.isArray(value)) for (const item of value) wordsIn(item, found)
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) wordsIn(item, found)
  return found
}
