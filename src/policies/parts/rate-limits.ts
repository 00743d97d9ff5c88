import { cel, def, integer, list, object, oneOf, opt, req } from '../../schema/builder.ts'
import { endpoint } from '../../schema/resource-references.ts'
import { conditional } from '../../schema/resource-variants.ts'
import { shortString, tinyString } from '../../schema/scalars.ts'
import { asFields, asItems, type Fields } from '../../schema/untyped.ts'
import { type ClusterContext, defined, lower, type Policies } from './cluster-form.ts'

// `rateLimit` of a resource holds two policies: per-replica limits and those of a rate limit service.

const localLimit = object(
  'local rate limit',
  {
    requests: opt(integer(1), 'Requests per unit.'),
    tokens: opt(integer(1), 'LLM tokens per unit.'),
    unit: req(oneOf(['Seconds', 'Minutes', 'Hours']), 'The window.'),
    burst: opt(integer(0, 2_147_483_647), 'Burst allowance above the rate.'),
  },
  { exactlyOneOf: [['requests', 'tokens']] },
)
const descriptor = object('rate limit descriptor', {
  entries: req(
    list(
      object('descriptor entry', {
        name: req(tinyString, 'The name.'),
        expression: req(cel('request', 'any'), 'Expression for the value.'),
      }),
      { min: 1, max: 16 },
    ),
    'What is counted together.',
  ),
  unit: def(oneOf(['Requests', 'Tokens']), 'Requests', 'What is counted.'),
  cost: opt(cel('usage', 'number'), 'Cost of a request in units.'),
  limitOverride: opt(cel('request', 'map'), 'A limit that overrides the service’s own.'),
})
const limiter = endpoint({ urlPath: false, what: 'The rate limit service' })
const globalLimit = object(
  'global rate limit',
  {
    ...limiter.fields,
    failureMode: def(oneOf(['FailClosed', 'FailOpen']), 'FailClosed', 'What happens when the service is unavailable.'),
    domain: req(shortString, 'Keeps applications apart on the service.'),
    descriptors: req(list(descriptor, { min: 1, max: 16 }), 'What is counted.'),
  },
  { exactlyOneOf: [limiter.group] },
)
export const rateLimitInCluster = conditional(
  'rate limit',
  {
    local: opt(list(localLimit, { min: 1, max: 16 }), 'Limits of each replica; a request must pass all.'),
    global: opt(globalLimit, 'Limits shared through a rate limit service.'),
  },
  { atLeastOneOf: [['local', 'global']] },
)

/** Null if there is none. */
export function convertLocalLimits(part: Fields, ctx: ClusterContext): unknown {
  const entries = entriesOf(part)
  if (entries === undefined) return localLimits(part.local, ctx) ?? null
  const limits = entries.map(({ condition, policy }) => ({ condition, limits: localLimits(policy.local, ctx) ?? [] }))
  if (limits.some(each => each.limits.length > 1))
    ctx.lose(part, 'of several local limits under one condition only the first is kept')
  const kept = limits.flatMap(each =>
    each.limits[0] ? [defined({ condition: each.condition, ...each.limits[0] })] : [],
  )
  return kept.length > 0 ? { conditional: kept } : null
}

/** Null if there is none; undefined if a service cannot be resolved. */
export function convertGlobalLimits(part: Fields, ctx: ClusterContext): Policies | null | undefined {
  const entries = entriesOf(part)
  if (entries === undefined) return asFields(part.global) ? globalLimits(part.global, ctx) : null
  const limits = entries.flatMap(({ condition, policy }) =>
    asFields(policy.global) ? [{ condition, limit: globalLimits(policy.global, ctx) }] : [],
  )
  if (limits.length === 0) return null
  const kept = limits.flatMap(({ condition, limit }) => (limit ? [defined({ condition, ...limit })] : []))
  return kept.length === limits.length ? { conditional: kept } : undefined
}

function entriesOf(part: Fields) {
  const entries = asItems(part.conditional)
  if (entries.length === 0) return undefined
  return entries.map(entry => ({ condition: entry.condition, policy: asFields(entry.policy) ?? {} }))
}

const UNITS: Readonly<Record<string, string>> = { Seconds: '1s', Minutes: '1m', Hours: '1h' }

function localLimits(part: unknown, ctx: ClusterContext): Policies[] | undefined {
  const limits = asItems(part).map(limit => {
    const rate = Number(limit.requests ?? limit.tokens)
    const made = {
      maxTokens: rate + Number(limit.burst ?? 0),
      tokensPerFill: rate,
      fillInterval: UNITS[String(limit.unit)] ?? '1s',
      type: limit.tokens === undefined ? 'requests' : 'tokens',
    }
    return ctx.keep(made, limit)
  })
  return limits.length === 0 ? undefined : limits
}

function globalLimits(value: unknown, ctx: ClusterContext): Policies | undefined {
  const part = asFields(value) ?? {}
  const target = ctx.target(part, 'failed to build global rate limit')
  const descriptors = asItems(part.descriptors).map(each =>
    defined({
      entries: asItems(each.entries).map(({ name, expression }) => ({ key: name, value: expression })),
      type: lower(each.unit) ?? 'requests',
      cost: each.cost,
      limitOverride: each.limitOverride,
    }),
  )
  return target && defined({ ...target, domain: part.domain, descriptors, failureMode: lower(part.failureMode) })
}
