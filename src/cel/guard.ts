import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Expression } from './expression.ts'

/**
 * Whether a condition that selects between stricter and weaker rules holds. Absent values make it false. On any other
 * failure, which a client can cause, nothing is selected: throws GatewayError `undecided`.
 */
export function holdsForSure(condition: Expression, x: Exchange): boolean {
  const outcome = condition.decide(x)
  if (!outcome.ok && outcome.kind !== 'absent') throw new GatewayError('undecided', { detail: outcome.error })
  return outcome.ok && outcome.value === true
}
