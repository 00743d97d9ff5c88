import type { Finding, Path } from '../../diagnostics/diagnostic.ts'
import { asFields, asList, asText, type Fields, textOf } from '../../schema/untyped.ts'
import type { LabelSelector } from '../kinds/resource.ts'
import type { Resource } from './resource.ts'

/** A finding about one resource, which may point into others. */
export interface ResourceFinding extends Finding {
  readonly resource: Resource
  /** The name is not in the input, which is no mistake if the input is known to be partial. */
  readonly unresolved?: boolean
  /** The missing resource may be in a file that was not given. */
  readonly outOfSight?: boolean
  readonly elsewhere?: readonly { readonly resource: Resource; readonly path: Path; readonly message: string }[]
}
export type ReportResource = (finding: ResourceFinding) => void

/** All resources of the input, indexed for references. */
export class ResourceGraph {
  readonly all: readonly Resource[]
  readonly #byId = new Map<string, Resource>()
  readonly #byKind: ReadonlyMap<string, readonly Resource[]>
  readonly #grants: readonly Grant[]

  constructor(resources: readonly Resource[], report: ReportResource) {
    this.all = resources
    this.#byKind = Map.groupBy(resources, ({ kind }) => kind.kind)
    for (const resource of resources) this.#add(resource, report)
    this.#grants = this.list('ReferenceGrant').flatMap(grantsOf)
  }

  #add(resource: Resource, report: ReportResource): void {
    if (resource.name === undefined) return
    const key = idOf(resource.kind.kind, resource.namespace, resource.name)
    const first = this.#byId.get(key)
    if (first === undefined) {
      this.#byId.set(key, resource)
      return
    }
    const path = [...resource.path, 'metadata', 'name']
    report({
      resource,
      code: 'GW203',
      message: `two ${resource.kindName} resources are named \`${resource.name}\``,
      path,
      at: 'value',
      label: 'used a second time',
      elsewhere: [{ resource: first, path: [...first.path, 'metadata', 'name'], message: 'first used here' }],
    })
  }

  find(kind: string, namespace: string | undefined, name: string): Resource | undefined {
    return this.#byId.get(idOf(kind, namespace, name))
  }

  /** Resources of a kind in a namespace, or in all namespaces if it is undefined. */
  list(kind: string, namespace?: string): readonly Resource[] {
    const all = this.#byKind.get(kind) ?? []
    return namespace === undefined ? all : all.filter(each => each.namespace === namespace)
  }

  /** Whether a ReferenceGrant permits resources of this kind and namespace to reference the target. */
  permits(
    from: Resource,
    to: { readonly group: string; readonly kind: string; readonly namespace: string; readonly name: string },
  ): boolean {
    return this.#grants.some(
      grant =>
        grant.namespace === to.namespace &&
        grant.from.kind === from.kind.kind &&
        grant.from.namespace === from.namespace &&
        (from.kind.own !== undefined || grant.from.group === from.group) &&
        grant.to.kind === to.kind &&
        (grant.to.kind.startsWith('Proxy') || grant.to.group === to.group) &&
        (grant.to.name === undefined || grant.to.name === to.name),
    )
  }
}

interface Grant {
  readonly namespace: string
  readonly from: { readonly group: string; readonly kind: string; readonly namespace: string }
  readonly to: { readonly group: string; readonly kind: string; readonly name: string | undefined }
}

function grantsOf(resource: Resource): Grant[] {
  const spec = asFields(resource.raw.spec) ?? {}
  const pairs = asList(spec.from).flatMap(from =>
    asList(spec.to).map(to => [asFields(from) ?? {}, asFields(to) ?? {}] as const),
  )
  return pairs.map(([from, to]) => ({
    namespace: resource.namespace ?? '',
    from: { group: textOf(from.group ?? ''), kind: canonical(textOf(from.kind)), namespace: textOf(from.namespace) },
    to: { group: textOf(to.group ?? ''), kind: canonical(textOf(to.kind)), name: asText(to.name) },
  }))
}

function idOf(kind: string, namespace: string | undefined, name: string): string {
  return `${kind}/${namespace ?? ''}/${name}`
}

/** Maps the names of our kinds to the canonical one. */
export function canonical(kind: string): string {
  return kind.replace(/^Agentgateway(?=(Backend|Model|Policy|Parameters)$)/, 'Proxy')
}

export function selects(selector: LabelSelector, labels: Fields): boolean {
  const exact = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value)
  return (
    exact &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      const value = labels[key]
      if (operator === 'Exists') return value !== undefined
      if (operator === 'DoesNotExist') return value === undefined
      const listed = value !== undefined && values.includes(textOf(value))
      return operator === 'In' ? listed : !listed
    })
  )
}

export function labelsOf(resource: Resource): Fields {
  return asFields(asFields(resource.raw.metadata)?.labels) ?? {}
}
