import { asFields, asList, asText, textOf } from '../../schema/untyped.ts'
import type { FoundReference } from './collect-references.ts'
import { canonical, labelsOf, type ReportResource, type ResourceGraph, selects } from './graph.ts'
import type { Resource } from './resource.ts'
import { type Named, noPart, notFound } from './unresolved.ts'

/** A policy target: the object, and its section or port. */
export function resolveTarget(ref: FoundReference, from: Resource, graph: ResourceGraph, report: ReportResource): void {
  const name = asText(ref.value.name)
  const kindName = asText(ref.value.kind)
  if (name === undefined || kindName === undefined) return
  const to: Named = {
    group: asText(ref.value.group) ?? '',
    kind: canonical(kindName),
    kindName,
    namespace: from.namespace ?? 'default',
    name,
  }
  const target = graph.find(to.kind, from.namespace, name)
  if (target) checkSection(ref, from, target, report)
  else report(notFound(ref, from, to, graph))
}

function checkSection(ref: FoundReference, from: Resource, target: Resource, report: ReportResource): void {
  const section = asText(ref.value.sectionName)
  const known = sectionsOf(target)
  if (section !== undefined && known && !known.names.includes(section)) {
    report(noPart(from, target, [...ref.path, 'sectionName'], { what: known.what, value: section, known: known.names }))
  }
  const { port } = ref.value
  if (typeof port !== 'number' || target.kind.kind !== 'Gateway') return
  const ports = asList(asFields(target.raw.spec)?.listeners).flatMap(each => (asFields(each)?.port as number) ?? [])
  if (!ports.includes(port))
    report(noPart(from, target, [...ref.path, 'port'], { what: 'port', value: port, known: ports }))
}

/** The sections that policies can target. */
function sectionsOf({ kind, raw }: Resource): { readonly what: string; readonly names: readonly string[] } | undefined {
  const spec = asFields(raw.spec) ?? {}
  switch (kind.kind) {
    case 'Gateway':
    case 'ListenerSet':
      return { what: 'listener', names: namesIn(spec.listeners) }
    case 'HTTPRoute':
    case 'GRPCRoute':
      return { what: 'rule', names: namesIn(spec.rules) }
    case 'Service': {
      const ports = asList(spec.ports).map(each => asFields(each) ?? {})
      return {
        what: 'port',
        names: ports.flatMap(({ port, name }) => [textOf(port), ...(typeof name === 'string' ? [name] : [])]),
      }
    }
    case 'ProxyBackend': {
      const groups = asList(asFields(spec.ai)?.groups).flatMap(group => asList(asFields(group)?.providers))
      return { what: 'target or provider', names: [...namesIn(asFields(spec.mcp)?.targets), ...namesIn(groups)] }
    }
    default:
      return undefined
  }
}

function namesIn(items: unknown): string[] {
  return asList(items).flatMap(each => asText(asFields(each)?.name) ?? [])
}

/** A label selector, which must match at least one object. */
export function resolveSelector(
  ref: FoundReference,
  from: Resource,
  graph: ResourceGraph,
  report: ReportResource,
): void {
  const matchLabels = asFields(ref.value.matchLabels) as Readonly<Record<string, string>> | undefined
  if (!matchLabels) return
  const kindName = asText(ref.value.kind) ?? ref.refers.kind
  const candidates = graph.list(canonical(kindName), from.namespace)
  const chosen = candidates.filter(each => selects({ matchLabels }, labelsOf(each)))
  const section = asText(ref.value.sectionName)
  // The section may be absent from some of the selected objects, but not from all.
  if (chosen[0] && section !== undefined && !chosen.some(each => sectionsOf(each)?.names.includes(section) ?? true)) {
    checkSection(ref, from, chosen[0], report)
  }
  if (chosen.length > 0) return
  const wanted = Object.entries(matchLabels)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ')
  report({
    resource: from,
    unresolved: true,
    code: 'GW401',
    message: `no ${kindName} in namespace \`${from.namespace}\` has the labels ${wanted}`,
    path: [...ref.path, 'matchLabels'],
    at: 'key',
    label: 'selects nothing',
  })
}

/** The parameters of a Gateway. */
export function resolveParameters(
  ref: FoundReference,
  from: Resource,
  graph: ResourceGraph,
  report: ReportResource,
): void {
  const name = asText(ref.value.name)
  const kindName = asText(ref.value.kind)
  if (name === undefined || kindName === undefined || canonical(kindName) !== 'ProxyParameters') return
  const namespace = asText(ref.value.namespace) ?? from.namespace ?? 'default'
  if (graph.find('ProxyParameters', namespace, name)) return
  report(
    notFound(
      ref,
      from,
      { group: asText(ref.value.group) ?? '', kind: 'ProxyParameters', kindName, namespace, name },
      graph,
    ),
  )
}
