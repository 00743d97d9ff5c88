import { asText, textOf } from '../../schema/untyped.ts'
import type { FoundReference } from './collect-references.ts'
import { canonical, type ReportResource, type ResourceGraph } from './graph.ts'
import { labelOf, type Resource } from './resource.ts'

interface Edge {
  readonly ref: FoundReference
  readonly to: Resource
}

/** Reports routes that delegate in a cycle, and backends that are reached through one another. */
export function reportCycles(
  references: ReadonlyMap<Resource, readonly FoundReference[]>,
  graph: ResourceGraph,
  report: ReportResource,
): void {
  const done = new Set<Resource>()
  const open: Resource[] = []
  const visit = (resource: Resource): void => {
    open.push(resource)
    for (const { ref, to } of edgesOf(resource, references.get(resource) ?? [], graph)) {
      const start = open.indexOf(to)
      if (start >= 0) report(cycle(resource, ref, [...open.slice(start), to]))
      else if (!done.has(to)) visit(to)
    }
    open.pop()
    done.add(resource)
  }
  for (const resource of references.keys()) if (!done.has(resource)) visit(resource)
}

function edgesOf(from: Resource, references: readonly FoundReference[], graph: ResourceGraph): Edge[] {
  if (from.kind.kind !== 'HTTPRoute' && from.kind.kind !== 'ProxyBackend') return []
  return references.flatMap(ref => {
    const name = asText(ref.value.name)
    if (ref.refers.to !== 'backend' || name === undefined || canonical(textOf(ref.value.kind)) !== from.kind.kind)
      return []
    const to = graph.find(from.kind.kind, asText(ref.value.namespace) ?? from.namespace, name)
    return to ? [{ ref, to }] : []
  })
}

function cycle(resource: Resource, ref: FoundReference, around: readonly Resource[]) {
  return {
    resource,
    code: 'GW210' as const,
    message: `the references go in a circle: ${around.map(labelOf).join(' → ')}`,
    path: [...ref.path, 'name'],
    at: 'value' as const,
    label: 'leads back',
  }
}
