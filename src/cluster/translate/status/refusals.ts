import { asItems } from '../../../schema/untyped.ts'
import { labelOf } from '../../resources/resource.ts'
import { CONTROLLER } from '../cluster-view.ts'
import type { Finished } from '../finish.ts'
import { isTrue, type Status } from './conditions.ts'

/** Adds routes' parts that only the compiler rejected to the statuses: the rest is served. */
export function withRefusals({ statuses, refused }: Pick<Finished, 'statuses' | 'refused'>): readonly Status[] {
  const messages = new Map<string, string[]>()
  for (const { resource = '', message } of refused) {
    messages.set(resource, [...(messages.get(resource) ?? []), message])
  }
  if (messages.size === 0) return statuses
  return statuses.map(each => {
    const told = messages.get(labelOf(each.resource))
    if (!told || !each.resource.kind.kind.endsWith('Route')) return each
    const partly = isTrue('PartiallyInvalid', 'UnsupportedValue', `Dropped Rule(s): ${told.join('; ')}`)
    const parents = asItems(each.status.parents).map(parent =>
      parent.controllerName === CONTROLLER
        ? { ...parent, conditions: [...asItems(parent.conditions), partly] }
        : parent,
    )
    return { ...each, status: { ...each.status, parents } }
  })
}
