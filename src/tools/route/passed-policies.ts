import { isDeepStrictEqual } from 'node:util'
import type { Bind, Listener, Route, Step } from '../../config/snapshot.ts'
import { policyNamed } from '../../policies/index.ts'
import type { TraceEvent, TraceMessage } from '../../trace/trace-event.ts'
import type { DryOutcome } from '../dry-run/dry-run.ts'
import { agentCall } from '../events/steps.ts'
import type { PolicyPassed } from './explanation.ts'
import { messagesOf, place } from './trace-reading.ts'

interface Passed {
  readonly bind: Bind
  readonly listener: Listener | undefined
  readonly route: Route | undefined
  readonly outcome: DryOutcome
}

/**
 * The merged policies of connection, listener, route and backend in execution order, with the effect of each on the
 * request.
 */
export function passedPolicies({ bind, listener, route, outcome }: Passed): PolicyPassed[] {
  const told = policyOutcomes(outcome.events)
  const chosen = route?.backends.find(({ backend }) => backend.name === outcome.backend)
  const at = (level: PolicyPassed['at'], steps: readonly Step[] = []) =>
    steps.map(step => policyPassed(level, step, told, outcome))
  return [
    ...at('connection', bind.connection),
    ...at('listener', listener?.pipeline.steps),
    ...at('route', route?.pipeline.steps),
    ...at('backend', chosen?.pipeline.steps),
  ]
}

const PHASES = { connection: 'connection', gateway: 'listener', route: 'route', backend: 'backend' } as const

/** The trace of one run of a policy, with the expressions evaluated for it. */
interface PolicyOutcome {
  readonly message: Extract<TraceMessage, { type: 'policy' }>
  readonly event: TraceEvent
  readonly checks: readonly TraceMessage[]
}

function policyOutcomes(events: readonly TraceEvent[]): PolicyOutcome[] {
  const out: PolicyOutcome[] = []
  let checks: { message: TraceMessage; event: TraceEvent }[] = []
  for (const event of events) {
    const { message, origins } = event
    if (message.type === 'cel' || message.type === 'authorization') checks.push({ message, event })
    if (message.type !== 'policy') continue
    const own = checks.filter(check => isDeepStrictEqual(check.event.origins, origins))
    out.push({ message, event, checks: own.map(check => check.message) })
    checks = checks.filter(check => !own.includes(check))
  }
  return out
}

function policyPassed(
  at: PolicyPassed['at'],
  step: Step,
  all: readonly PolicyOutcome[],
  outcome: DryOutcome,
): PolicyPassed {
  const own = all.filter(({ message, event }) => {
    const where = PHASES[message.phase as keyof typeof PHASES] ?? at
    return message.policy === step.policy && where === at && isDeepStrictEqual(event.origins, step.origins)
  })
  // Of several calls or hooks, the one that ended the request is the most telling.
  const last = own.find(({ message }) => message.result === 'failed' || message.result === 'replied') ?? own[0]
  const did = policyNamed.get(step.policy)?.perItem ? itemsRefused(outcome) : didOf(step, last?.message, outcome)
  const checks = [...own.flatMap(each => each.checks), ...did.checks]
  return {
    policy: step.policy,
    at,
    result: did.result ?? (decides(step, at) ? 'not reached' : 'in force'),
    ...(did.detail === undefined ? {} : { detail: did.detail }),
    origins: step.origins.map(place),
    overridden: (step.overridden ?? []).map(place),
    fields: (step.fields ?? []).map(({ name, wonBy, overridden }) => {
      return { name, wonBy: wonBy.map(place), overridden: overridden.map(place) }
    }),
    rules: checks.flatMap(check => (check.type === 'authorization' ? rulesOf(check) : [])),
    expressions: checks.flatMap(check => {
      if (check.type !== 'cel') return []
      const { type: _, ...rest } = check
      return [rest]
    }),
  }
}

/** The effect of a policy, including checks without an event of their own. */
interface Did {
  readonly result?: PolicyPassed['result'] | undefined
  readonly detail?: string | undefined
  readonly checks: readonly TraceMessage[]
}

/** Checked by the backend for each item, apart from policy execution. */
function itemsRefused({ events, reason }: DryOutcome): Did {
  const checks = messagesOf(events, 'authorization').filter(({ subject }) => subject !== undefined)
  if (checks.length === 0) return { checks }
  const items = `${checks.length} ${checks.length === 1 ? 'item' : 'items'}`
  return reason === 'MCP' ? { result: 'failed', checks } : { result: 'applied', detail: `hides ${items}`, checks }
}

function rulesOf({ rules, subject }: Extract<TraceMessage, { type: 'authorization' }>): PolicyPassed['rules'] {
  return rules.map(rule => ({ ...rule, ...(subject === undefined ? {} : { subject }) }))
}

/** Whether it runs before the backend is called. */
function decides({ hooks }: Step, at: PolicyPassed['at']): boolean {
  return (
    hooks.connection !== undefined || hooks.request !== undefined || (at === 'backend' && hooks.attempt !== undefined)
  )
}

function didOf(
  { policy }: Step,
  message: Extract<TraceMessage, { type: 'policy' }> | undefined,
  { headers, a2a }: DryOutcome,
): Did {
  const { result, detail } = message ?? {}
  if (policy === 'a2a' && result === 'applied')
    return { result, detail: a2a ? agentCall(a2a) : 'no call of A2A', checks: [] }
  const [limit, left, seconds] = ['limit', 'remaining', 'reset'].map(name => {
    return headers.findLast(([each]) => each.toLowerCase() === `x-ratelimit-${name}`)?.[1]
  })
  if (!policyNamed.get(policy)?.showsBudget || result === undefined || limit === undefined) {
    // Its name and effect say the same.
    return detail === `${policy} ${result}` ? { result, checks: [] } : { result, detail, checks: [] }
  }
  const budget = `${left} of ${limit} left, next fill in ${seconds} s`
  return { result, detail: result === 'failed' ? `${detail}: ${budget}` : budget, checks: [] }
}
