import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Clock } from '../../http/runtime.ts'
import { discard, handlerAround, type ResponseHandler } from '../../http/transport.ts'
import type { HealthRules } from '../../policies/policy.ts'
import { type EndpointHealth, evictionTime, retryHint } from '../endpoint-health.ts'

export interface Candidate {
  readonly name: string
  readonly health: EndpointHealth
  readonly rules: HealthRules | undefined
}

/**
 * Groups in order; in each, the better of two drawn at random comes first, the others by score. Those that are left out
 * come last: they are asked when nobody else is there.
 */
export function rank<C extends Candidate>(groups: readonly (readonly C[])[], random: () => number, now: number): C[] {
  const ranked = groups.flatMap(group => {
    if (group.length < 2) return group
    const draw = (): C => group[Math.floor(random() * group.length)] as C
    const [one, other] = [draw(), draw()]
    const first = other.health.score > one.health.score ? other : one
    return [first, ...group.filter(each => each !== first).sort((a, b) => b.health.score - a.health.score)]
  })
  const out = ranked.filter(each => each.health.evicted(now))
  return out.length === 0 ? ranked : [...ranked.filter(each => !out.includes(each)), ...out]
}

/**
 * Asks one candidate after the other until one answers; the last answer counts whatever it is. `call` makes one call
 * and may throw GatewayError.
 */
export function callInTurn<C extends Candidate>(
  candidates: readonly C[],
  clock: Clock,
  x: Exchange,
  on: ResponseHandler,
  call: (candidate: C, on: ResponseHandler) => Promise<void> | void,
): void {
  const ask = async (index: number): Promise<void> => {
    const candidate = candidates[index]
    if (candidate === undefined) {
      on.fail(new GatewayError('noHealthyBackend'))
      return
    }
    const handler = watched(
      candidate,
      clock,
      x,
      on,
      index + 1 < candidates.length ? () => void ask(index + 1) : undefined,
    )
    if (index > 0) {
      x.trace?.emit({ type: 'backend', backend: candidate.name, kind: 'ai', reason: 'the one before it failed' })
    }
    try {
      await call(candidate, handler)
    } catch (error) {
      handler.fail(error as Error)
    }
  }
  void ask(0)
}

/** Notes how a call went, and hands a failed one over to `next` before the client has seen anything of it. */
function watched(
  { health, rules }: Candidate,
  clock: Clock,
  x: Exchange,
  on: ResponseHandler,
  next: (() => void) | undefined,
): ResponseHandler {
  const started = clock.mono()
  let settled = false
  const settle = (note: () => void): void => {
    if (!settled) note()
    settled = true
  }
  const succeeded = (): void => settle(() => health.succeed((clock.mono() - started) / 1000))
  const failed = (hint?: number): void =>
    settle(() => health.fail(clock.mono(), rules, evictionTime(rules, x.attempts.at(-1)?.backoff, hint)))
  const unknown = (): void => settle(() => health.forget())
  health.begin()
  x.onAbort(unknown)
  return handlerAround(on, {
    head(status, headers) {
      const refused = status === 429 || status >= 500
      const outcome = rules?.unhealthy?.evaluate(x, { response: { status, headers } })
      const unhealthy = outcome === undefined ? refused : outcome.ok && outcome.value === true
      if (unhealthy) failed(status === 429 ? retryHint(headers, clock.now()) : undefined)
      else succeeded()
      if (!(refused || unhealthy) || !next || x.aborted) return on.head(status, headers)
      next()
      return discard
    },
    fail(error) {
      const atProvider = !(error instanceof GatewayError) || error.status >= 500
      if (atProvider) failed()
      else unknown()
      if (atProvider && next && !x.aborted) next()
      else on.fail(error)
    },
    upgrade(status, headers, socket) {
      succeeded()
      on.upgrade?.(status, headers, socket)
    },
  })
}
