import { type Origin, placeText } from '../../../diagnostics/diagnostic.ts'
import type { DumpDocument, DumpPolicies, DumpRoute } from '../../config-dump/model.ts'
import type { DryOutcome } from '../../dry-run/dry-run.ts'
import { policyMeaning } from '../parts.ts'
import { addressOf, type Result } from './outcome.ts'

/** What determined an outcome. */
export interface Decision {
  /** `default/chat`; unset if none matched. */
  readonly route?: string
  /** `policy authorization`, `backend 127.0.0.1:1`, `no route`. */
  readonly step: string
  /** `file:line`; empty if unknown. */
  readonly at: string
}

/** `changed`: policies of the route that differ between the sides and may be the cause. */
export function decisionOf(result: Result, { routes }: DumpDocument, changed: ReadonlySet<string>): Decision {
  if ('refused' in result) return { step: result.refused, at: '' }
  const { events } = result
  const found = routes.find(({ key }) => key === result.route)
  const route = found === undefined ? {} : { route: `${found.namespace}/${found.name}` }
  const stopped = events.findLast(isStop)
  if (stopped?.message.type === 'policy') {
    return { ...route, step: `policy ${stopped.message.policy}`, at: placeOf(stopped.origins[0]) }
  }
  const own = found ? policiesOf(found) : new Map()
  const named = result.reason === 'Timeout' ? 'timeout' : changedIn(result, own, changed)
  const policy = named === undefined ? undefined : own.get(named)
  if (policy) return { ...route, step: `policy ${named}`, at: lineOf(policy.origins.at(-1)) }
  const backends = events.filter(({ message }) => message.type === 'backend')
  const chosen = backends.findLast(({ origins }) => origins.length > 0) ?? backends.at(-1)
  if (chosen?.message.type === 'backend') {
    const call = result.upstream.findLast(({ purpose }) => purpose === 'backend')
    const name = call === undefined ? chosen.message.kind : addressOf(call)
    return { ...route, step: `backend ${name}`, at: placeOf(chosen.origins[0]) }
  }
  const called = result.upstream.findLast(({ purpose }) => purpose === 'backend')
  if (events.length === 0) return { ...route, step: called ? `backend ${addressOf(called)}` : result.reason, at: '' }
  const listener = events.find(({ message }) => message.type === 'listener')
  if (result.listener === undefined) return { step: 'no listener', at: '' }
  return { ...route, step: found ? 'no backend' : 'no route', at: placeOf(listener?.origins[0]) }
}

/** The policy that stopped a request. */
export function stoppedBy(result: Result): string | undefined {
  if ('refused' in result) return undefined
  const message = result.events.findLast(isStop)?.message
  if (message?.type === 'policy') return message.policy
  return result.reason === 'Timeout' ? 'timeout' : undefined
}

function isStop({ message }: DryOutcome['events'][number]): boolean {
  return message.type === 'policy' && /replied|failed/.test(message.result)
}

/** The only differing policy that was applied. Undefined if there are several. */
function changedIn({ events }: DryOutcome, own: Policies, changed: ReadonlySet<string>): string | undefined {
  const here = [...changed].filter(name => own.has(name))
  const told = new Set(
    events.flatMap(({ message: m }) => (m.type === 'policySelection' && m.phase === 'route' ? m.policies : [])),
  )
  const applied = events.flatMap(({ message }) => (message.type === 'policy' ? message.policy : []))
  // Policies of a backend are internal to it, and say nothing here.
  const [only, ...others] = here.filter(name => !told.has(name) || applied.includes(name))
  return others.length === 0 ? only : undefined
}

/** For two routes, the policies that only one has, or that differ. */
export function changedPolicies(before: DumpRoute | undefined, after: DumpRoute | undefined): ReadonlySet<string> {
  if (!before || !after) return new Set()
  const [left, right] = [policiesOf(before), policiesOf(after)]
  const meaning = (name: string, { spec }: DumpPolicies[string] = { origins: [] }) => policyMeaning(name, spec)
  const differs = (name: string) =>
    left.has(name) !== right.has(name) || meaning(name, left.get(name)) !== meaning(name, right.get(name))
  return new Set([...left.keys(), ...right.keys()].filter(differs))
}

type Policies = ReadonlyMap<string, DumpPolicies[string]>

function policiesOf({ policies, backends }: DumpRoute): Policies {
  const all = [policies, ...backends.map(use => use.policies)] as readonly DumpPolicies[]
  return new Map(all.flatMap(each => Object.entries(each)))
}

function lineOf(origin = ''): string {
  return origin.replace(/:\d+$/, '')
}

function placeOf(origin: Origin | undefined): string {
  return origin === undefined ? '' : placeText(origin)
}
