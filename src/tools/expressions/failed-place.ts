import type { Outcome } from '../../cel/expression.ts'
import type { ExpressionPart } from '../../cel/inspect.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'

interface FailedPlace {
  /** In the whole expression. */
  readonly span: readonly [start: number, end: number]
  readonly help?: string
}

/**
 * A failure reports its start position. If a name begins there, it is the first of its fields, from left to right, that
 * is absent; otherwise the smallest failing part. `at`: undefined if the failure has no position.
 */
export function failedPlace(
  text: string,
  at: number | undefined,
  parts: readonly ExpressionPart[],
  evaluate: (part: string) => Outcome | undefined,
): FailedPlace {
  const inner = parts.find(({ text: part, span }) => span[0] === (at ?? span[0]) && evaluate(part)?.ok === false)
  const span = inner?.span ?? [0, text.length]
  if (at === undefined) return { span }
  const [chain = ''] = /^\w+(?:\.\w+|\[(?:"[^"]*"|'[^']*'|\d+)\])*/.exec(text.slice(at)) ?? []
  let known = ''
  let holder: unknown
  for (const [step] of chain.matchAll(/^\w+|\.\w+|\[[^\]]*\]/g)) {
    const part = known + step
    const outcome = evaluate(part)
    if (outcome && !outcome.ok) {
      const name = step.replace(/^\.|^\[["']?|["']?\]$/g, '')
      return { span: [at, at + part.length], ...(known === '' ? variableHelp(name) : fieldHelp(name, holder)) }
    }
    known = part
    holder = outcome?.value
  }
  return { span }
}

const GIVEN_BY: Readonly<Record<string, string>> = {
  jwt: '--jwt-claims gives it claims',
  apiKey: '--api-key gives it metadata',
}

function variableHelp(name: string): Pick<FailedPlace, 'help'> {
  return { help: `${GIVEN_BY[name] ?? `--context '{"${name}": …}' gives it a value, and so may --trace`}.` }
}

function fieldHelp(name: string, holder: unknown): Pick<FailedPlace, 'help'> {
  if (typeof holder !== 'object' || holder === null) return {}
  const keys = Object.keys(holder)
  const listed = keys.length === 0 ? 'It is empty.' : `It has ${keys.slice(0, 10).join(', ')}.`
  return { help: didYouMean(name, keys) ?? listed }
}
