import type { Expression, Outcome } from '../../cel/expression.ts'
import { variableNamed } from '../../cel/variables.ts'
import { isCredentialHeader } from '../../http/credential-names.ts'
import type { Exchange } from '../../http/exchange.ts'
import { type CelResult, type CelScope, cel, type MapNode, map, type SecretField } from '../../schema/builder.ts'
import { REDACTED } from '../../schema/redact.ts'

/**
 * Whether what is written for a header field may be the credential itself: the field's value lets somebody in, and the
 * expression is not made of variables alone. A token that somebody has forgotten to quote is no variable.
 */
export function holdsCredential(name: string, expression: unknown): boolean {
  if (!isCredentialHeader(name)) return false
  if (typeof expression !== 'string') return true
  const bare = expression.replace(/\[\s*(["'])[\w-]*\1\s*\]/g, '')
  if (/["']/.test(bare)) return true
  const roots = bare.match(/(?<![\w.])[A-Za-z_]\w*(?![\w]|\s*\()/g) ?? []
  return roots.some(root => !WORDS.has(root) && variableNamed(root) === undefined)
}

/** Of an object with the name of a header field and the expression for its value. */
export const credentialExpression: SecretField = {
  name: 'value',
  where: ({ name, value }) => typeof name === 'string' && holdsCredential(name, value),
}

/**
 * The value of a header field. What comes of one that lets somebody in is in no trace, and neither is an expression
 * that may be the value itself.
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

/** Header fields whose values expressions give: name to expression. */
export function headerExpressions(
  scope: CelScope,
  result: CelResult,
  options: Partial<Pick<MapNode, 'keys' | 'min' | 'max'>> = {},
) {
  return map(cel(scope, result), { max: 64, ...options, secretKeys: holdsCredential })
}
