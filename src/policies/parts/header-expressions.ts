import type { Expression, Outcome } from '../../cel/expression.ts'
import { variableNamed } from '../../cel/variables.ts'
import { isCredentialHeader } from '../../http/credential-names.ts'
import type { Exchange } from '../../http/exchange.ts'
import { type CelResult, type CelScope, cel, type MapNode, map, type SecretField } from '../../schema/builder.ts'
import { REDACTED } from '../../schema/redact.ts'

/**
 * Whether the configured text of a header expression may be the credential itself: the field carries a credential, and
 * the expression does not consist of variables alone. An unquoted token is not a variable.
 */
export function holdsCredential(name: string, expression: unknown): boolean {
  if (!isCredentialHeader(name)) return false
  if (typeof expression !== 'string') return true
  const bare = expression.replace(/\[\s*(["'])[\w-]*\1\s*\]/g, '')
  if (/["']/.test(bare)) return true
  const roots = bare.match(/(?<![\w.])[A-Za-z_]\w*(?![\w]|\s*\()/g) ?? []
  return roots.some(root => !WORDS.has(root) && variableNamed(root) === undefined)
}

/** For an object with a header name and the expression for its value. */
export const credentialExpression: SecretField = {
  name: 'value',
  where: ({ name, value }) => typeof name === 'string' && holdsCredential(name, value),
}

/**
 * The value of a header field. Results for credential fields are not traced, and neither are expressions that may be
 * the value itself.
 */
export function evaluateHeader(name: string, expression: Expression, x: Exchange, guards = false): Outcome {
  const { trace } = x
  if (trace === undefined || !isCredentialHeader(name)) return guards ? expression.decide(x) : expression.evaluate(x)
  const from = trace.now()
  x.trace = undefined
  const outcome = guards ? expression.decide(x) : expression.evaluate(x)
  x.trace = trace
  const shown = holdsCredential(name, expression.text) ? REDACTED : expression.text
  const told = outcome.ok ? { result: REDACTED } : { error: outcome.error }
  trace.emit({ type: 'cel', expression: shown, ...told }, { from })
  return outcome
}

const WORDS: ReadonlySet<string> = new Set(['true', 'false', 'null', 'in'])

/** Header fields computed by expressions: name to expression. */
export function headerExpressions(
  scope: CelScope,
  result: CelResult,
  options: Partial<Pick<MapNode, 'keys' | 'min' | 'max'>> = {},
) {
  return map(cel(scope, result), { max: 64, ...options, secretKeys: holdsCredential })
}
