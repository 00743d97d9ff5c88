import type { Expression, Outcome } from '../../../cel/expression.ts'
import { GatewayError } from '../../../http/errors.ts'
import type { Exchange } from '../../../http/exchange.ts'
import { type DescriptorToWrite, RATE_LIMIT_UNITS } from '../../../protobuf/rate-limit.ts'
import { tokensOf } from '../token-usage.ts'

/** What to send to the service. */
export interface DescriptorRules {
  readonly entries: readonly { readonly key: string; readonly value: Expression }[]
  readonly countsTokens: boolean
  readonly cost: Expression | undefined
  readonly limitOverride: Expression | undefined
}

/** A descriptor evaluated for one request. */
export interface Asked {
  readonly rules: DescriptorRules
  readonly descriptor: DescriptorToWrite
}

/**
 * The descriptors of `x`. One with an absent value is omitted; on any other failure, which a client can cause, no limit
 * would apply: throws GatewayError `rateLimitFailed`.
 */
export function descriptorsOf(rules: readonly DescriptorRules[], x: Exchange): Asked[] {
  const isLlm = x.llm !== undefined || x.backend?.protocol === 'llm'
  return rules.flatMap(each => {
    if (each.countsTokens && !isLlm) return []
    const descriptor = descriptorOf(each, x)
    return descriptor === undefined ? [] : { rules: each, descriptor }
  })
}

function descriptorOf(rules: DescriptorRules, x: Exchange): DescriptorToWrite | undefined {
  const entries: { key: string; value: string }[] = []
  for (const { key, value } of rules.entries) {
    const text = textOf(known(value.decide(x)))
    if (text === undefined) return undefined
    entries.push({ key, value: text })
  }
  const { limitOverride, countsTokens, cost } = rules
  const limit = limitOverride && limitIn(known(limitOverride.decide(x)))
  if (limitOverride && limit === undefined) return undefined
  // Token usage is known only afterwards: until then this only checks whether any are left.
  const hits = countsTokens ? 0 : cost && unitsIn(known(cost.decide(x)))
  if (cost && hits === undefined) return undefined
  return { entries, ...(limit ? { limit } : {}), ...(hits === undefined ? {} : { hitsAddend: { value: hits } }) }
}

/** Input tokens of a request in progress, for descriptors that count only tokens. */
export function inputOf(asked: readonly Asked[], tokens: number): DescriptorToWrite[] {
  return asked.flatMap(({ rules: { countsTokens, cost }, descriptor }) =>
    countsTokens && cost === undefined ? { ...descriptor, hitsAddend: { value: tokens } } : [],
  )
}

/** The tokens that a request has used, for descriptors that count them, minus those charged before the call. */
export function chargesOf(asked: readonly Asked[], x: Exchange): DescriptorToWrite[] {
  const { llm } = x
  if (llm === undefined) return []
  return asked.flatMap(({ rules: { countsTokens, cost }, descriptor }) => {
    if (!countsTokens) return []
    const outcome = cost?.decide(x)
    const used =
      cost === undefined ? Math.max(0, tokensOf(llm) - x.tokensTaken) : outcome?.ok ? unitsIn(outcome.value) : undefined
    return used === undefined || used === 0 ? [] : { ...descriptor, hitsAddend: { value: used } }
  })
}

/** Undefined if absent. */
function known(outcome: Outcome): unknown {
  if (outcome.ok) return outcome.value ?? undefined
  if (outcome.kind === 'absent') return undefined
  throw undecided(outcome.error)
}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (['string', 'number', 'bigint', 'boolean'].includes(typeof value)) return String(value)
  throw undecided('a descriptor is not text')
}

/** Rounded to an integer, at least 0. */
function unitsIn(value: unknown): number | undefined {
  if (value === undefined) return undefined
  const units = Math.min(Math.max(0, Math.round(Number(value))), Number.MAX_SAFE_INTEGER)
  if (Number.isNaN(units)) throw undecided('a cost is not a number')
  return units
}

const MAX_UINT32 = 2 ** 32 - 1

function limitIn(value: unknown): { readonly requestsPerUnit: number; readonly unit: number } | undefined {
  if (value === undefined) return undefined
  const { unit, requestsPerUnit } = value as Readonly<Record<string, unknown>>
  const known = RATE_LIMIT_UNITS[String(unit).toLowerCase()]
  const requests = Number(requestsPerUnit)
  if (known === undefined || !Number.isInteger(requests) || requests < 0) {
    throw undecided('a limit without `unit` and `requestsPerUnit`')
  }
  return { requestsPerUnit: Math.min(requests, MAX_UINT32), unit: known }
}

/** The request or the expression is at fault, not the service. */
function undecided(cause: string): GatewayError {
  return new GatewayError('rateLimitFailed', { status: 403, cause })
}
