import { ACCUMULATING } from '../kinds/parts/members.ts'
import { nameOf } from './cluster-view.ts'
import type { GatewayListener } from './listeners.ts'
import type { EmittedRoute, Entry, Output } from './output.ts'
import type { PlacedPolicy } from './policies.ts'
import type { Work } from './work.ts'

/** The outcome of one policy member at one place, for `--explain`. */
export interface Decision {
  readonly policy: PlacedPolicy
  readonly kept: boolean
  readonly why: string
}

/**
 * Resolves what the file cannot express: which of two policies at one place wins (the older), and what a policy with
 * `inheritance: Override` locks at lower levels. The rest follows from the order of levels.
 */
export function settle(
  placed: readonly PlacedPolicy[],
  emitted: readonly EmittedRoute[],
  output: Output,
  work: Work,
): Decision[] {
  const locks = placed.filter(each => each.locks && each.phase === 'route')
  const first = new Map<string, PlacedPolicy>()
  const decisions: Decision[] = []
  for (const policy of placed.toSorted((a, b) => a.rank - b.rank)) {
    const drop = dropped(policy, locks, first)
    decisions.push({ policy, kept: drop === undefined, why: drop?.why ?? 'applies' })
    if (drop !== undefined) work.lose(work.from(policy.part, policy.state.policy), drop.why, { hidden: drop.hidden })
    else output.policies.push(entryOf(policy, work))
  }
  for (const lock of locks) lockFilters(lock, emitted, work)
  return decisions
}

function dropped(
  policy: PlacedPolicy,
  locks: readonly PlacedPolicy[],
  first: Map<string, PlacedPolicy>,
): { readonly why: string; readonly hidden: boolean } | undefined {
  const lock = policy.phase === 'route' ? locks.find(each => locksOut(each, policy)) : undefined
  if (lock)
    return {
      why: `\`${policy.name}\` is locked by ${label(lock)}, which sets \`inheritance: Override\``,
      hidden: false,
    }
  if (ACCUMULATING.has(policy.name)) return undefined
  const key = JSON.stringify([policy.target, policy.phase, policy.rank, policy.name])
  const older = first.get(key)
  if (older && older.state !== policy.state)
    return { why: `${label(older)} comes first and sets \`${policy.name}\` for the same target`, hidden: true }
  first.set(key, policy)
  return undefined
}

function locksOut(lock: PlacedPolicy, policy: PlacedPolicy): boolean {
  return (
    lock !== policy &&
    lock.state !== policy.state &&
    lock.name === policy.name &&
    lock.rank < policy.rank &&
    covers(lock, policy)
  )
}

function covers(lock: PlacedPolicy, below: Pick<PlacedPolicy, 'listeners' | 'route'>): boolean {
  if (lock.route)
    return (
      below.route !== undefined &&
      below.route.name === lock.route.name &&
      below.route.namespace === lock.route.namespace
    )
  return isWithin(below.listeners, lock.listeners)
}

function isWithin(inner: readonly GatewayListener[], outer: readonly GatewayListener[]): boolean {
  return inner.length > 0 && inner.every(each => outer.includes(each))
}

/** A route's own filters are the lowest level. */
function lockFilters(lock: PlacedPolicy, emitted: readonly EmittedRoute[], work: Work): void {
  for (const route of emitted) {
    const policies = route.entry.policies as Entry | undefined
    if (!policies || policies[lock.name] === undefined || !covers(lock, { listeners: route.listeners, route })) continue
    const from = work.origins.at(route.entry, ['policies', lock.name])
    if (from) work.lose(from, `\`${lock.name}\` is locked by ${label(lock)}, which sets \`inheritance: Override\``)
    delete policies[lock.name]
    if (Object.keys(policies).length === 0) delete route.entry.policies
  }
}

function label({ state }: PlacedPolicy): string {
  return `${state.policy.kindName} ${nameOf(state.policy)}`
}

function entryOf(policy: PlacedPolicy, work: Work): Entry {
  const { name, namespace } = policy.state.policy
  const from = work.from(policy.part, policy.state.policy)
  const entry: Entry = { name: { name, namespace }, target: policy.target }
  if (policy.phase === 'gateway') entry.phase = 'gateway'
  entry.policy = { [policy.name]: policy.value }
  return work.origins.mark(entry, from)
}
