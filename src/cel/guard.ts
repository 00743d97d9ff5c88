import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Expression } from './expression.ts'

/**
 * Whether a condition holds that chooses between what is stricter and what is weaker. Where what it asks for is not
 * there, it does not hold. Where it fails otherwise, which a client can bring about, nothing is chosen: throws
 * GatewayError `undecided`.
 */
export function holdsForSure(condition: Expression, x: Exchange): boolean {
  const outcome = condition.decide(x)
  if (!outcome.ok && outcome.kind !== 'absent') throw new GatewayError('undecided', { detail: outcome.error })
  return outcome.ok && outcome.value === true
}
