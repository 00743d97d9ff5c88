import { asFields, asItems, type Fields } from '../../../schema/untyped.ts'
import type { Resource } from '../../resources/resource.ts'
import type { ParentState, RouteState } from '../attachment.ts'
import { CONTROLLER, compare, GATEWAY_GROUP, idOf, OWN_GROUP } from '../cluster-view.ts'
import type { PolicyState } from '../policy-targets.ts'
import type { Reach } from '../reach.ts'
import { type Condition, isFalse, isTrue, type Status } from './conditions.ts'

/** The status of a route or model: one entry per parent of ours. */
export function routeStatus({ route, resolved }: RouteState, parents: readonly ParentState[]): Status {
  return {
    resource: route,
    status: {
      parents: parents.map(({ shown, accepted }) => ({
        parentRef: shown,
        controllerName: CONTROLLER,
        conditions: [accepted, resolved],
      })),
    },
  }
}

export function backendStatus(backend: Resource, errors: readonly string[]): Status {
  const condition =
    errors.length === 0
      ? isTrue('Accepted', 'Accepted', 'Backend successfully accepted')
      : isFalse('Accepted', 'TranslationError', `failed to translate backend: ${errors.join('\n')}`)
  return { resource: backend, status: { conditions: [condition] } }
}

const MAX_ANCESTORS = 16

/** The status of a policy: one entry per Gateway that it reaches, and a summary of the targets that reach none. */
export function policyStatus(state: PolicyState, reach: Reach): Status {
  const { policy, targets, errors } = state
  const unattached: string[] = []
  const gateways = new Set<string>()
  for (const { object, problem, kindName } of targets) {
    const found = object && problem === undefined ? reach.of(idOf(object)) : []
    for (const gateway of found) gateways.add(gateway)
    if (problem !== undefined) unattached.push(problem)
    else if (found.length === 0) {
      unattached.push(`${kindName} ${object!.namespace}/${object!.name} is not attached to any Gateway`)
    }
  }
  const unique = [...new Set(errors)]
  const accepted =
    unique.length > 0
      ? isTrue('Accepted', 'PartiallyValid', unique.join('\n'))
      : isTrue('Accepted', 'Valid', 'Policy accepted')
  const attached = isTrue('Attached', 'Attached', 'Attached to all targets')
  const own = [...gateways].map(gateway =>
    ancestor(gatewayRef(gateway), unique.length > 0 ? [accepted] : [accepted, attached]),
  )
  if (unattached.length > 0) {
    const message = `Policy is not attached: ${unattached.join('\n')}`
    const conditions = [isTrue('Accepted', 'Valid', 'Policy accepted'), isFalse('Attached', 'Pending', message)]
    own.push(ancestor({ group: OWN_GROUP, name: 'StatusSummary' }, conditions))
  }
  const all = [...foreign(policy), ...limited(own)].sort((a, b) => compare(keyOf(a), keyOf(b)))
  return { resource: policy, status: { ancestors: all } }
}

function limited(entries: readonly Fields[]): readonly Fields[] {
  if (entries.length <= MAX_ANCESTORS) return entries
  const message = `${entries.length - MAX_ANCESTORS + 1} further ancestors are not shown`
  const summary = ancestor({ group: OWN_GROUP, name: 'StatusSummary' }, [
    isTrue('StatusSummarized', 'StatusSummarized', message),
  ])
  return [...entries.slice(0, MAX_ANCESTORS - 1), summary]
}

/** Entries of other controllers are kept. */
function foreign(policy: Resource): readonly Fields[] {
  return asItems(asFields(policy.raw.status)?.ancestors)
    .filter(({ controllerName }) => controllerName !== CONTROLLER)
    .map(entry => ({
      ...entry,
      conditions: asItems(entry.conditions).map(({ lastTransitionTime: _, ...rest }) => rest),
    }))
}

function ancestor(ancestorRef: Fields, conditions: readonly Condition[]): Fields {
  return { ancestorRef, controllerName: CONTROLLER, conditions }
}

export function gatewayRef(gateway: string): Fields {
  const [namespace, name] = gateway.split('/') as [string, string]
  return { group: GATEWAY_GROUP, kind: 'Gateway', name, namespace }
}

function keyOf(entry: Fields): string {
  const ref = asFields(entry.ancestorRef) ?? {}
  return [entry.controllerName, ref.group, ref.kind, ref.namespace, ref.name].map(String).join('/')
}
