import type { Expression } from '../../cel/expression.ts'
import { holdsForSure } from '../../cel/guard.ts'
import type { Exchange } from '../../http/exchange.ts'
import {
  cel,
  type Field,
  type Fields,
  list,
  type ObjectOf,
  type ObjectOptions,
  type ObjectProblem,
  object,
  opt,
} from '../../schema/builder.ts'
import type { Hooks, Limits } from '../policy.ts'
import { afterBody, bodiesFor } from './request-body.ts'

/** One entry of `conditional`: the policy's own fields, and when they apply. */
export type Conditioned<S> = S & { readonly condition?: Expression }

/**
 * The field `conditional`: 1 to 16 variants of a policy, of which the first with a true condition applies
 * (specification, Traffic policy building blocks). The containing object passes `fallbackComesLast` as its `check`.
 */
export function conditional<F extends Fields>(
  name: string,
  fields: F,
  options: ObjectOptions = {},
): Field<readonly Conditioned<ObjectOf<F>>[], 'optional'> {
  const entry = object(
    name,
    {
      condition: opt(cel('request', 'bool'), 'When this entry applies; only the last one may omit it.'),
      ...fields,
    },
    options,
  )
  return opt(list(entry, { min: 1, max: 16 }), 'Variants by condition; the first whose condition is true applies.', {
    spec: 'Traffic policy building blocks',
  }) as unknown as Field<readonly Conditioned<ObjectOf<F>>[], 'optional'>
}

export function fallbackComesLast(value: Record<string, unknown>): readonly ObjectProblem[] {
  const entries = (value.conditional ?? []) as readonly { readonly condition?: Expression }[]
  return entries.slice(0, -1).flatMap((entry, i) =>
    entry.condition === undefined
      ? {
          message: 'an entry without `condition` always applies, so the entries after it never do',
          path: ['conditional', i],
          at: 'value' as const,
          label: 'lacks `condition`',
          help: 'set `condition`, or move this entry to the end as the fallback',
        }
      : [],
  )
}

/**
 * Whether the policy protects something. A client can make a condition fail, and then neither skipping nor applying the
 * entry is safe: either may be the weaker choice. So the request is rejected.
 */
type Purpose = 'guards' | 'changes'

/** The hooks of the entry that applies to a request; its response hooks follow the same choice. */
export function compileConditional<S>(
  entries: readonly Conditioned<S>[],
  purpose: Purpose,
  limits: Limits,
  compile: (entry: S, index: number) => Hooks,
): Hooks {
  const holds = purpose === 'guards' ? holdsForSure : holdsAsFarAsKnown
  // The body is buffered only for the variant that applies.
  const variants = entries.map((entry, i) => ({ condition: entry.condition, hooks: afterBody(compile(entry, i)) }))
  const all = variants.map(variant => variant.hooks)
  const needs = bodiesFor(
    variants.map(variant => variant.condition),
    limits,
  )
  const chosen = new WeakMap<Exchange, Hooks>()
  const laterMoments = all.some(hooks => hooks.response || hooks.responseBody || hooks.done)

  function conditionalRequest(x: Exchange) {
    for (const { condition, hooks } of variants) {
      if (condition !== undefined && !holds(condition, x)) continue
      if (laterMoments) chosen.set(x, hooks)
      return hooks.request?.(x)
    }
    return undefined
  }
  const { buffersRequest } = needs
  const buffersResponse = all.find(hooks => hooks.buffersResponse)?.buffersResponse
  return {
    request: conditionalRequest,
    ...(all.some(hooks => hooks.response) ? { response: x => chosen.get(x)?.response?.(x) } : {}),
    ...(all.some(hooks => hooks.responseBody) ? { responseBody: x => chosen.get(x)?.responseBody?.(x) } : {}),
    ...(all.some(hooks => hooks.done) ? { done: x => chosen.get(x)?.done?.(x) } : {}),
    ...(buffersRequest === undefined ? {} : { buffersRequest }),
    ...(buffersResponse ? { buffersResponse } : {}),
  }
}

/** A condition that fails counts as false. */
function holdsAsFarAsKnown(condition: Expression, x: Exchange): boolean {
  const outcome = condition.evaluate(x)
  return outcome.ok && outcome.value === true
}
