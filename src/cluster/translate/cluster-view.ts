import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import type { LabelSelector } from '../kinds/resource.ts'
import { canonical, labelsOf, ResourceGraph, selects } from '../resources/graph.ts'
import type { Resource } from '../resources/resource.ts'

export const CONTROLLER = 'agentgateway.dev/agentgateway'
export const OWN_GROUP = 'agentgateway.dev'
export { GATEWAY_GROUP, INFERENCE_GROUP } from '../../schema/resource-references.ts'

/** The resources as a controller sees them, in an order independent of the input. */
export class ClusterView {
  readonly #byKind: ReadonlyMap<string, readonly Resource[]>
  readonly #byId = new Map<string, Resource>()
  readonly #graph: ResourceGraph
  readonly all: readonly Resource[]
  #slices: ReadonlyMap<string, readonly Resource[]> | undefined
  #tlsPolicies: ReadonlyMap<string, readonly AimedTls[]> | undefined

  constructor(resources: readonly Resource[]) {
    const kept: Resource[] = []
    for (const each of resources.toSorted(byAge)) {
      if (each.name === undefined || this.#byId.has(idOf(each))) continue
      this.#byId.set(idOf(each), each)
      kept.push(each)
    }
    this.all = kept
    this.#byKind = Map.groupBy(kept, each => each.kind.kind)
    this.#graph = new ResourceGraph(kept, () => {})
  }

  /** Oldest first. */
  list(kind: string): readonly Resource[] {
    return this.#byKind.get(kind) ?? []
  }

  find(kind: string, namespace: string | undefined, name: string): Resource | undefined {
    return this.#byId.get(`${canonical(kind)}/${namespace ?? ''}/${name}`)
  }

  /** The EndpointSlices of a Service. */
  endpointSlices(namespace: string, service: string): readonly Resource[] {
    this.#slices ??= Map.groupBy(this.list('EndpointSlice'), slice => {
      const labels = labelsOf(slice)
      return `${slice.namespace}/${String(labels['kubernetes.io/service-name'])}`
    })
    return this.#slices.get(`${namespace}/${service}`) ?? []
  }

  /** The BackendTLSPolicies of a Service: those for a single port first, then oldest first. */
  tlsPolicies(namespace: string, service: string): readonly AimedTls[] {
    this.#tlsPolicies ??= Map.groupBy(
      this.list('BackendTLSPolicy')
        .flatMap(policy => asItems(specOf(policy).targetRefs).map(ref => aimedTls(policy, ref)))
        .sort((a, b) => Number(a.section === undefined) - Number(b.section === undefined)),
      ({ service }) => service,
    )
    return this.#tlsPolicies.get(`${namespace}/${service}`) ?? []
  }

  permits(from: Resource, to: { group: string; kind: string; namespace: string; name: string }): boolean {
    return this.#graph.permits(from, to)
  }

  /** Whether a `from` of `namespaces` (Same, All, Selector, None) admits a namespace. */
  admits(namespaces: Fields, fallback: string, own: string | undefined, other: string | undefined): boolean {
    const from = asText(namespaces.from) ?? fallback
    if (from === 'All') return true
    if (from === 'Same') return own === other
    if (from !== 'Selector') return false
    const namespace = this.find('Namespace', undefined, other ?? '')
    const labels = { ...(namespace ? labelsOf(namespace) : {}), 'kubernetes.io/metadata.name': other }
    return selects((asFields(namespaces.selector) ?? {}) as LabelSelector, labels)
  }
}

interface AimedTls {
  readonly policy: Resource
  /** `namespace/name`. */
  readonly service: string
  /** A port name. */
  readonly section: string | undefined
}

function aimedTls(policy: Resource, ref: Fields): AimedTls {
  return { policy, service: `${policy.namespace}/${String(ref.name)}`, section: asText(ref.sectionName) }
}

export function idOf(resource: Resource): string {
  return `${resource.kind.kind}/${resource.namespace ?? ''}/${resource.name}`
}

/** `namespace/name`. */
export function nameOf(resource: Pick<Resource, 'namespace' | 'name'>): string {
  return `${resource.namespace}/${resource.name}`
}

export function specOf(resource: Resource): Fields {
  return asFields(resource.raw.spec) ?? {}
}

/** Every backend that the rules of a route and their filters name. */
export function backendRefsOf(route: Resource): readonly Fields[] {
  return asItems(specOf(route).rules).flatMap(rule => [
    ...asItems(rule.backendRefs),
    ...asItems(rule.filters).flatMap(filter => {
      const inner = (filter.requestMirror ?? filter.externalAuth) as Fields | undefined
      return inner?.backendRef ? [inner.backendRef as Fields] : []
    }),
  ])
}

function createdOf(resource: Resource): string | undefined {
  return asText(asFields(resource.raw.metadata)?.creationTimestamp)
}

export function annotationsOf(resource: Resource): Fields {
  return asFields(asFields(resource.raw.metadata)?.annotations) ?? {}
}

/** Creation time, then namespace and name; for duplicates the content decides, so that input order does not. */
function byAge(a: Resource, b: Resource): number {
  return (
    compare(createdOf(a) ?? '~', createdOf(b) ?? '~') ||
    compare(a.namespace ?? '', b.namespace ?? '') ||
    compare(a.name ?? '', b.name ?? '') ||
    compare(a.kind.kind, b.kind.kind) ||
    compare(JSON.stringify(b.raw), JSON.stringify(a.raw))
  )
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
