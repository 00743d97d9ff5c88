import type { Expression } from '../../cel/expression.ts'
import { type ErrorCode, GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'

/**
 * Evaluates the values to send to a service. Absent values are omitted; on any other failure, which a client can cause,
 * the service would decide about a different request: throws GatewayError `code`.
 */
export function evaluateAll(
  expressions: Readonly<Record<string, Expression>>,
  x: Exchange,
  code: ErrorCode,
  decide = (_name: string, expression: Expression, x: Exchange) => expression.decide(x),
): Record<string, unknown> {
  const out: Record<string, unknown> = Object.create(null)
  for (const [name, expression] of Object.entries(expressions)) {
    const outcome = decide(name, expression, x)
    if (outcome.ok) out[name] = outcome.value
    else if (outcome.kind !== 'absent') throw new GatewayError(code, { status: 403, cause: outcome.error })
  }
  return out
}
