import { GatewayError } from '../../http/errors.ts'
import type { Exchange, GuardCheck } from '../../http/exchange.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Guard, GuardPhase, Refusal, Verdict } from './guard.ts'
import type { GuardedMessage } from './texts.ts'

/** The exchanges that guards run for and report to. */
export interface GuardCall {
  /** The client's request. */
  readonly x: Exchange
  /** The call to the provider, for which guard calls are made. */
  readonly own: Exchange
  readonly clock: Clock
}

/**
 * Runs the guards in order: each sees what the previous ones masked, and the first rejection ends the run. Returns a
 * promise only if a guard has to wait. Throws GatewayError `guard` if one could not decide.
 */
export function runGuards(
  guards: readonly Guard[],
  phase: GuardPhase,
  messages: readonly GuardedMessage[],
  call: GuardCall,
  from = 0,
): Refusal | undefined | Promise<Refusal | undefined> {
  for (let i = from; i < guards.length; i++) {
    const guard = guards[i] as Guard
    const verdict = runOne(guard, phase, messages, call)
    if (verdict instanceof Promise) {
      return verdict.then(settled => settle(settled) ?? runGuards(guards, phase, messages, call, i + 1))
    }
    const refusal = settle(verdict)
    if (refusal) return refusal
  }
  return undefined
}

function settle(verdict: Verdict): Refusal | undefined {
  if (verdict.action === 'mask') for (const [run, texts] of verdict.texts) run.texts = texts
  return verdict.action === 'reject' ? verdict.refusal : undefined
}

function runOne(
  guard: Guard,
  phase: GuardPhase,
  messages: readonly GuardedMessage[],
  call: GuardCall,
): Verdict | Promise<Verdict> {
  const runs = messages.flatMap(message =>
    message.runs.filter(run => guard.scope.has(run.scope) && run.texts.some(text => text !== '')),
  )
  if (runs.length === 0) return { action: 'allow' }
  const begun = call.clock.mono()
  const from = call.own.trace?.now()
  const failed = (error: unknown): never => {
    const detail = error instanceof Error ? error.message : String(error)
    reportGuard(guard, phase, { action: 'fail', error: detail }, call, begun, from)
    throw error instanceof GatewayError && error.code === 'guard' ? error : guardFailure(error)
  }
  try {
    const verdict = guard.check({ phase, messages, runs }, call.x, call.own)
    if (!(verdict instanceof Promise)) {
      reportGuard(guard, phase, verdict, call, begun, from)
      return verdict
    }
    return verdict.then(settled => {
      reportGuard(guard, phase, settled, call, begun, from)
      return settled
    }, failed)
  } catch (error) {
    return failed(error)
  }
}

/** The cause is for the trace only: it may quote the service. */
export function guardFailure(cause: unknown): GatewayError {
  return new GatewayError('guard', { cause })
}

type Told = Verdict | { readonly action: 'fail'; readonly error: string }

const COUNTED: Readonly<Record<Told['action'], GuardCheck['action']>> = {
  allow: 'Allow',
  mask: 'Mask',
  reject: 'Reject',
  failOpen: 'FailOpen',
  audit: 'Audit',
  fail: 'Fail',
}

/** Reports to the metrics, the access log and the trace, without the matched text. */
export function reportGuard(
  guard: Guard,
  phase: GuardPhase,
  verdict: Told,
  { x, own, clock }: GuardCall,
  begun: number,
  from?: number,
): void {
  const reason = reasonOf(verdict)
  x.guardChecks ??= []
  if (x.guardChecks.length < MAX_CHECKS) {
    x.guardChecks.push({
      guard: guard.name,
      phase: phase === 'request' ? 'Request' : 'Response',
      action: COUNTED[verdict.action],
      ...(reason === undefined ? {} : { reason }),
    })
  }
  own.trace?.emit(
    {
      type: 'guard',
      guard: guard.name,
      phase,
      action: verdict.action,
      duration: Math.round((clock.mono() - begun) * 1000),
      ...(verdict.action === 'audit' ? { would: verdict.would } : {}),
      ...(verdict.action === 'mask' || verdict.action === 'reject' ? rulesOf(verdict) : {}),
      ...(reason === undefined ? {} : { reason }),
      ...(verdict.action === 'fail' || verdict.action === 'failOpen' ? { error: verdict.error } : {}),
    },
    {
      severity: SEVERITIES[verdict.action],
      origins: guard.origins,
      ...(from === undefined ? {} : { from }),
    },
  )
}

function rulesOf({ rules }: { readonly rules?: readonly string[] }) {
  return rules === undefined ? {} : { rules }
}

/** A stream is checked repeatedly; at most this many checks are counted. */
const MAX_CHECKS = 1024

const SEVERITIES = {
  allow: 'success',
  mask: 'warn',
  reject: 'warn',
  audit: 'info',
  failOpen: 'warn',
  fail: 'error',
} as const

/** The service's reason for its verdict, truncated to a line. */
function reasonOf(verdict: Told): string | undefined {
  const reason =
    verdict.action === 'reject' ? verdict.refusal.reason : verdict.action === 'audit' ? verdict.reason : undefined
  return reason?.slice(0, 200)
}

/** The response to a rejected request: as configured or as the service returned it, in whatever format. */
export function refusalError({ status, body, headers }: Refusal): GatewayError {
  return new GatewayError('rejected', { status, headers, body: { type: '', text: body } })
}
