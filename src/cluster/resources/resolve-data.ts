import { asFields, asText } from '../../schema/untyped.ts'
import type { FoundReference } from './collect-references.ts'
import type { ReportResource, ResourceGraph } from './graph.ts'
import type { Resource } from './resource.ts'
import { type Named, noPart, notFound, notPermitted } from './unresolved.ts'

/** A Secret or ConfigMap, with the data keys that are read. */
export function resolveData(ref: FoundReference, from: Resource, graph: ResourceGraph, report: ReportResource): void {
  const name = asText(ref.value.name)
  const kind = asText(ref.value.kind) ?? ref.refers.kind
  if (name === undefined || asText(ref.value.group) !== undefined) return
  if (kind !== 'Secret' && kind !== 'ConfigMap') return
  const namespace = asText(ref.value.namespace) ?? from.namespace ?? 'default'
  const to: Named = { group: '', kind, kindName: kind, namespace, name }
  if (namespace !== from.namespace && !graph.permits(from, to)) report(notPermitted(ref, from, to))
  const target = graph.find(kind, namespace, name)
  if (!target) {
    report(notFound(ref, from, to, graph))
    return
  }
  const known = dataKeys(target)
  for (const accepted of neededKeys(ref)) {
    if (accepted.some(key => known.includes(key))) continue
    const written = ref.value.key !== undefined
    report(
      noPart(from, target, [...ref.path, written ? 'key' : 'name'], { what: 'data key', value: accepted[0]!, known }),
    )
  }
}

function neededKeys({ value, refers }: FoundReference): readonly (readonly string[])[] {
  if (refers.keys) return refers.keys
  const key = asText(value.key) ?? refers.defaultKey
  return key === undefined ? [] : [[key]]
}

function dataKeys({ raw }: Resource): readonly string[] {
  return ['data', 'stringData', 'binaryData'].flatMap(field => Object.keys(asFields(raw[field]) ?? {}))
}
