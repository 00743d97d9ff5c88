import { asItems } from '../../../schema/untyped.ts'
import { canonical } from '../../resources/graph.ts'
import { labelOf, type Resource } from '../../resources/resource.ts'
import { idOf, specOf } from '../cluster-view.ts'
import type { Finished } from '../finish.ts'
import type { Decision } from '../settle.ts'
import { sourceMap } from './source-map.ts'

/** The resources that `KIND/NAME` or `KIND/NAMESPACE/NAME` selects. */
export function resourcesNamed(name: string, finished: Finished): readonly Resource[] {
  const [kind = '', ...rest] = name.split('/')
  const [namespace, own] = rest.length > 1 ? [rest[0], rest.slice(1).join('/')] : [undefined, rest[0]]
  return finished.work.cluster.all.filter(
    each =>
      each.kind.kind.toLowerCase() === canonical(kind).toLowerCase() &&
      each.name === own &&
      (namespace === undefined || each.namespace === namespace),
  )
}

/** Explains one resource: what it attaches to, what it was merged with, which field won, and what it became. */
export function explain(resource: Resource, finished: Finished): string {
  const { file, line } = resource.document.origin(resource.path)
  const sections: (readonly [string, readonly string[]])[] = [
    ['conditions', conditions(resource, finished)],
    ['selects', selects(resource)],
    ['policies', finished.decisions.filter(each => concerns(each, resource, finished.emitted)).map(decision)],
    ['became', became(resource, finished)],
    [
      'lost',
      finished.losses.filter(loss => loss.resource === labelOf(resource)).map(loss => `${loss.path}: ${loss.message}`),
    ],
  ]
  const shown = sections.filter(([, lines]) => lines.length > 0)
  const text = shown.map(([title, lines]) => `  ${title}\n${[...new Set(lines)].map(each => `    ${each}\n`).join('')}`)
  return `${labelOf(resource)} (${file}:${line})\n${text.join('')}`
}

function conditions(resource: Resource, { statuses }: Finished): readonly string[] {
  const status = statuses.find(each => each.resource === resource)?.status
  if (!status) return ['not handled by a controller of this gateway']
  const of = (owner: string, items: unknown) =>
    asItems(items).map(({ type, status: value, reason, message }) => {
      const text = `${owner}${String(type)}=${String(value)} (${String(reason)})`
      return message === '' ? text : `${text}: ${String(message).replaceAll('\n', '; ')}`
    })
  const ref = (value: unknown) => {
    const { kind = '', name } = (value ?? {}) as { kind?: string; name?: string }
    return `${kind} ${name}: `.trimStart()
  }
  return [
    ...of('', status.conditions),
    ...asItems(status.listeners).flatMap(each => of(`listener ${String(each.name)}: `, each.conditions)),
    ...asItems(status.parents).flatMap(each => of(ref(each.parentRef), each.conditions)),
    ...asItems(status.ancestors).flatMap(each => of(ref(each.ancestorRef), each.conditions)),
  ]
}

function selects(resource: Resource): readonly string[] {
  const spec = specOf(resource)
  const refs = [...asItems(spec.parentRefs), ...asItems(spec.targetRefs)]
  const named = refs.map(({ kind = 'Gateway', name, sectionName }) => {
    return `${String(kind)} ${String(name)}${sectionName === undefined ? '' : `, section ${String(sectionName)}`}`
  })
  return [
    ...named,
    ...asItems(spec.targetSelectors).map(
      ({ kind, matchLabels }) => `${String(kind)} with ${JSON.stringify(matchLabels)}`,
    ),
  ]
}

/** The policy itself, or one that applies to the resource. */
function concerns({ policy }: Decision, resource: Resource, emitted: Finished['emitted']): boolean {
  const { state, listeners, route } = policy
  if (state.policy === resource) return true
  const isPart = (chain: Finished['emitted'][number]['chain']) =>
    chain.some(step => idOf(step.route) === idOf(resource))
  if (route) return isPart(route.chain)
  if (listeners.some(({ gateway, owner }) => gateway === resource || owner === resource)) return true
  return emitted.some(each => isPart(each.chain) && each.listeners.some(listener => listeners.includes(listener)))
}

function decision({ policy, kept, why }: Decision): string {
  const target = JSON.stringify(policy.target)
  return `${kept ? 'kept' : 'left out'}: \`${policy.name}\` of ${labelOf(policy.state.policy)} for ${target}${kept ? '' : ` — ${why}`}`
}

function became(resource: Resource, { value, work }: Finished): readonly string[] {
  return sourceMap(value, work.origins)
    .filter(
      part => part.kind === resource.kindName && part.name === resource.name && part.namespace === resource.namespace,
    )
    .map(({ path, field, line }) => `${path} ← ${field} (line ${line})`)
}
