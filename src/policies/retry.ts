// When an upstream call is retried. Data only: the engine makes the calls.

import { cel, def, integer, list, object, opt } from '../schema/builder.ts'
import { resourceDuration, set } from '../schema/resource-scalars.ts'
import { duration, statusCode } from '../schema/scalars.ts'
import type { Fields } from '../schema/untyped.ts'
import { asFields } from '../schema/untyped.ts'
import { type ClusterContext, defined, type Policies } from './parts/cluster-form.ts'
import { bodiesFor } from './parts/request-body.ts'
import { definePolicy } from './policy.ts'

const schema = object(
  'retry',
  {
    attempts: def(integer(1, 255), 1, 'Maximum number of retries.'),
    backoff: opt(duration, 'Pause between attempts.'),
    codes: def(list(statusCode(100, 599)), [], 'Response statuses to retry.'),
    precondition: opt(cel('request', 'bool'), 'Retries only if this is true for the request.'),
    condition: opt(cel('response', 'bool'), 'Retries if this is true for the response, whatever its status.'),
  },
  { textMeans: 'attempts' },
)

const inCluster = object('retry', {
  attempts: opt(integer(1), 'Maximum number of retries.'),
  backoff: opt(resourceDuration(), 'Pause before a retry.'),
  codes: opt(set(integer(400, 599)), 'Response statuses to retry.'),
  precondition: opt(cel('request', 'bool'), 'Retries only if this is true for the request.'),
  condition: opt(cel('response', 'bool'), 'Retries if this is true for the response.'),
})

export const retry = definePolicy({
  name: 'retry',
  doc: 'Retries failed calls to the backend.',
  attach: ['route'],
  schema,
  cluster: [
    { section: 'traffic', member: 'retry', field: opt(inCluster, 'Retries failed calls.'), convert: convertRetry },
  ],
  probe(spec) {
    const codes = asFields(spec)?.codes
    return { statuses: [...(Array.isArray(codes) ? codes.slice(0, 4).map(Number) : []), 503] }
  },
  compile({ attempts, backoff = 0, codes, precondition, condition }, { limits }) {
    return {
      retry: {
        attempts,
        backoff,
        codes: new Set(codes),
        ...(precondition ? { precondition } : {}),
        ...(condition ? { condition } : {}),
      },
      ...bodiesFor([precondition, condition], limits),
    }
  },
})

/** Also used for the retry of a route rule. */
export function convertRetry(part: Fields, ctx: ClusterContext): Policies | null {
  const attempts = typeof part.attempts === 'number' ? part.attempts : 1
  if (attempts <= 0) return null
  if (attempts > 255) ctx.lose(part, `${attempts} attempts are cut to 255`)
  return defined({
    attempts: Math.min(attempts, 255),
    backoff: part.backoff,
    codes: Array.isArray(part.codes) ? [...part.codes] : undefined,
    precondition: part.precondition,
    condition: part.condition,
  })
}
