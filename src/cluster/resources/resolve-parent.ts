import { GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { listenersRefusal, refusal } from './attachment.ts'
import type { FoundReference } from './collect-references.ts'
import type { ReportResource, ResourceGraph } from './graph.ts'
import { labelOf, type Resource } from './resource.ts'
import { type Named, noPart, notFound } from './unresolved.ts'

/** The Gateway, ListenerSet, route or Service that a route or model attaches to, and whether a listener accepts it. */
export function resolveParent(ref: FoundReference, from: Resource, graph: ResourceGraph, report: ReportResource): void {
  const name = asText(ref.value.name)
  const group = typeof ref.value.group === 'string' ? ref.value.group : GATEWAY_GROUP
  const kindName = asText(ref.value.kind) ?? ref.refers.kind
  if (name === undefined || !isParent(group, kindName)) return
  const namespace = asText(ref.value.namespace) ?? from.namespace ?? 'default'
  const to: Named = { group, kind: kindName, kindName, namespace, name }
  const parent = graph.find(kindName, namespace, name)
  if (!parent) {
    report(notFound(ref, from, to, graph))
    return
  }
  if (kindName !== 'Gateway' && kindName !== 'ListenerSet') return
  const listeners = asItems(asFields(parent.raw.spec)?.listeners)
  const candidates = chosen(ref, from, parent, listeners, report)
  if (candidates.length === 0) return
  const reasons =
    from.kind.kind === 'ListenerSet'
      ? [listenersRefusal(from, parent, graph)]
      : candidates.map(listener => refusal(from, parent, listener, graph))
  if (reasons.includes(undefined)) return
  report({
    resource: from,
    code: 'GW404',
    message: `${labelOf(from)} does not attach to ${labelOf(parent)}`,
    path: [...ref.path, ref.value.sectionName === undefined ? 'name' : 'sectionName'],
    at: 'value',
    label: 'does not take it',
    help: [...new Set(reasons)].join('; '),
    elsewhere: [
      { resource: parent, path: [...parent.path, 'metadata', 'name'], message: `${labelOf(parent)} is declared here` },
    ],
  })
}

function isParent(group: string, kind: string): boolean {
  return group === ''
    ? kind === 'Service'
    : group === GATEWAY_GROUP && ['Gateway', 'ListenerSet', 'HTTPRoute'].includes(kind)
}

/** The listeners selected by `sectionName` and `port`. */
function chosen(
  ref: FoundReference,
  from: Resource,
  parent: Resource,
  listeners: readonly Fields[],
  report: ReportResource,
): readonly Fields[] {
  const section = asText(ref.value.sectionName)
  const { port } = ref.value
  // ListenerSets add listeners to a Gateway, but they are referenced only through the set.
  const named = section === undefined ? listeners : listeners.filter(({ name }) => name === section)
  if (named.length === 0 && section !== undefined) {
    const known = listeners.flatMap(({ name }) => asText(name) ?? [])
    report(noPart(from, parent, [...ref.path, 'sectionName'], { what: 'listener', value: section, known }))
    return []
  }
  const open = typeof port === 'number' ? named.filter(each => each.port === port) : named
  if (open.length === 0 && typeof port === 'number') {
    const known = listeners.flatMap(each => (typeof each.port === 'number' ? each.port : []))
    report(noPart(from, parent, [...ref.path, 'port'], { what: 'port', value: port, known }))
  }
  return open
}
