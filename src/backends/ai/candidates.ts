import { PRIMARY } from '../../calls/call-record.ts'
import { repeatOf } from '../../calls/derived-exchange.ts'
import { makeCall } from '../../calls/outcall.ts'
import type { CallSteps } from '../../calls/step.ts'
import type { Origin } from '../../diagnostics/diagnostic.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Attempt, Exchange } from '../../http/exchange.ts'
import type { ResponseHandler } from '../../http/transport.ts'
import type { HealthRules } from '../../policies/policy.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { type EndpointHealth, watchHealth } from '../endpoint-health.ts'
import { closeness } from '../endpoints.ts'

export interface Candidate {
  readonly name: string
  readonly health: EndpointHealth
  readonly rules: HealthRules | undefined
  /** The provider's policies, run around each call. */
  readonly steps: CallSteps
  readonly origin: Origin
}

/**
 * Groups in order. Within a group, the better of two random picks comes first, the rest by score. `affinity`: equal
 * texts get the same order. Evicted candidates come last, as a fallback.
 */
export function rank<C extends Candidate>(
  groups: readonly (readonly C[])[],
  random: () => number,
  now: number,
  affinity?: string,
): C[] {
  const ranked = groups.flatMap(group => {
    if (group.length < 2) return group
    if (affinity !== undefined) {
      return [...group].sort((a, b) => closeness(b.name, affinity) - closeness(a.name, affinity))
    }
    const draw = (): C => group[Math.floor(random() * group.length)] as C
    const [one, other] = [draw(), draw()]
    const first = other.health.score > one.health.score ? other : one
    return [first, ...group.filter(each => each !== first).sort((a, b) => b.health.score - a.health.score)]
  })
  const out = ranked.filter(each => each.health.evicted(now))
  return out.length === 0 ? ranked : [...ranked.filter(each => !out.includes(each)), ...out]
}

/** How to call candidates of one kind. */
export interface Calling<C> {
  readonly runtime: Runtime
  /** Makes one call with the contents of `x`; throws GatewayError. `more`: another call follows on failure. */
  send(candidate: C, x: Exchange, attempt: Attempt, on: ResponseHandler, more: boolean): void
}

/** Calls one candidate after another until one succeeds; the last response is returned in any case. */
export function callInTurn<C extends Candidate>(
  candidates: readonly C[],
  calling: Calling<C>,
  x: Exchange,
  attempt: Attempt,
  on: ResponseHandler,
): void {
  const { clock } = calling.runtime
  const [only] = candidates
  const alone = candidates.length === 1 && only?.steps.attempt.length === 0 && only.steps.response.length === 0
  const ask = (index: number, reason?: string): void => {
    const candidate = candidates[index]
    if (candidate === undefined) {
      on.fail(new GatewayError('noHealthyBackend'))
      return
    }
    const { name, health, rules } = candidate
    const next = index + 1 < candidates.length ? (why: string) => ask(index + 1, `${name} ${why}`) : undefined
    const handler = watchHealth({ endpoint: name, health, rules, clock, provider: true }, x, attempt, on, next)
    if (reason !== undefined) x.trace?.emit({ type: 'backend', backend: name, kind: 'ai', reason })
    try {
      // A single candidate's call is the attempt itself; one of several is a call of its own.
      if (alone) calling.send(candidate, x, attempt, handler, false)
      else callOne(candidate, calling, x, attempt, { reason, more: next !== undefined }, handler)
    } catch (error) {
      handler.fail(error as Error)
    }
  }
  ask(0)
}

function callOne<C extends Candidate>(
  candidate: C,
  { runtime, send }: Calling<C>,
  x: Exchange,
  { timeout = 0, backoff = 0 }: Attempt,
  { reason, more }: { readonly reason: string | undefined; readonly more: boolean },
  on: ResponseHandler,
): void {
  const { name, steps, origin } = candidate
  const own = repeatOf(x, PRIMARY.Llm, `provider ${name}`)
  // The attempt has a span already.
  own.span = undefined
  const to = {
    name,
    steps,
    send: (own: Exchange, attempt: Attempt, on: ResponseHandler) => send(candidate, own, attempt, on, more),
  }
  x.owns(
    makeCall(
      own,
      to,
      { purpose: PRIMARY.Llm, what: 'provider', reason, origins: [origin], timeout, backoff },
      runtime,
      on,
    ),
  )
}
