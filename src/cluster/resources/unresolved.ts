import { didYouMean } from '../../diagnostics/suggest.ts'
import type { FoundReference } from './collect-references.ts'
import type { ResourceFinding, ResourceGraph } from './graph.ts'
import { labelOf, type Resource } from './resource.ts'

export interface Named {
  readonly group: string
  /** Canonical, for our kinds. */
  readonly kind: string
  /** As written in the reference. */
  readonly kindName: string
  readonly namespace: string
  readonly name: string
}

/** The referenced name is not in the input. */
export function notFound(ref: FoundReference, from: Resource, to: Named, graph: ResourceGraph): ResourceFinding {
  const seen = graph.list(to.kind, to.namespace).flatMap(({ name }) => name ?? [])
  const away = graph.list(to.kind).find(({ name, namespace }) => name === to.name && namespace !== to.namespace)
  const shown = seen
    .slice(0, 5)
    .map(name => `\`${name}\``)
    .join(', ')
  const where = to.namespace === from.namespace ? '' : ` in namespace \`${to.namespace}\``
  const help = didYouMean(to.name, seen) ?? (away ? `there is one in namespace \`${away.namespace}\`` : undefined)
  return {
    resource: from,
    unresolved: true,
    code: 'GW204',
    message: `${labelOf(from)} refers to ${to.kindName} \`${to.name}\`${where}, which is not in the input`,
    path: [...ref.path, 'name'],
    at: 'value',
    label: `no such ${to.kindName}`,
    ...(help === undefined ? {} : { help }),
    ...(shown === '' ? {} : { note: `${to.kindName}s seen here: ${shown}` }),
    outOfSight: true,
  }
}

/** The reference crosses namespaces, and no grant permits it. */
export function notPermitted(ref: FoundReference, from: Resource, to: Named): ResourceFinding {
  return {
    resource: from,
    unresolved: true,
    code: 'GW209',
    message: `${labelOf(from)} refers to ${to.kindName} \`${to.name}\` in namespace \`${to.namespace}\` without a ReferenceGrant there`,
    path: [...ref.path, 'namespace'],
    at: 'value',
    label: 'another namespace',
    help: `a ReferenceGrant in \`${to.namespace}\` must name ${from.kindName} of \`${from.namespace}\` under \`from\` and ${to.kindName} under \`to\``,
  }
}

/** The object exists, but not the section or port. */
export function noPart(
  from: Resource,
  to: Resource,
  path: readonly (string | number)[],
  part: {
    readonly what: string
    readonly value: string | number
    readonly known: readonly (string | number)[]
    readonly at?: 'value' | 'parent'
  },
): ResourceFinding {
  const { what, value, known, at = 'value' } = part
  const names = known
    .slice(0, 8)
    .map(each => `\`${each}\``)
    .join(', ')
  const guess = typeof value === 'string' ? didYouMean(value, known.map(String)) : undefined
  return {
    resource: from,
    code: 'GW208',
    message: `${labelOf(to)} has no ${what} \`${value}\``,
    path,
    at,
    label: `no such ${what}`,
    help: guess ?? (names === '' ? `it has no ${what}s` : `it has: ${names}`),
    elsewhere: [{ resource: to, path: [...to.path, 'metadata', 'name'], message: `${labelOf(to)} is declared here` }],
  }
}
