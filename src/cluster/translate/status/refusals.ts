import { asItems, type Fields } from '../../../schema/untyped.ts'
import { labelOf } from '../../resources/resource.ts'
import { CONTROLLER } from '../cluster-view.ts'
import type { Finished } from '../finish.ts'
import { type Condition, isFalse, isTrue, type Status } from './conditions.ts'

/** Adds what only the compiler rejected to the statuses of routes and models: parts, of which the rest is served. */
export function withRefusals({ statuses, refused }: Pick<Finished, 'statuses' | 'refused'>): readonly Status[] {
  const byResource = Map.groupBy(refused, ({ resource = '' }) => resource)
  if (byResource.size === 0) return statuses
  return statuses.map(each => {
    const told = byResource.get(labelOf(each.resource))
    const { kind } = each.resource.kind
    if (!told || (kind !== 'ProxyModel' && !kind.endsWith('Route'))) return each
    const messages = told.map(({ message }) => message).join('; ')
    const part = kind === 'ProxyModel' ? 'Part(s)' : 'Rule(s)'
    const gone = kind === 'ProxyModel' && told.some(({ path }) => path === 'spec')
    const condition = gone
      ? isFalse('ResolvedRefs', 'Invalid', messages)
      : isTrue('PartiallyInvalid', 'UnsupportedValue', `Dropped ${part}: ${messages}`)
    const parents = asItems(each.status.parents).map(parent =>
      parent.controllerName === CONTROLLER ? { ...parent, conditions: withCondition(parent, condition) } : parent,
    )
    return { ...each, status: { ...each.status, parents } }
  })
}

function withCondition({ conditions }: Fields, condition: Condition): readonly Fields[] {
  return [...asItems(conditions).filter(({ type }) => type !== condition.type), { ...condition }]
}
