import { createCelCompiler } from '../../cel/compiler.ts'
import type { CelCompiler, Outcome } from '../../cel/expression.ts'
import { inspectExpression } from '../../cel/inspect.ts'
import { fieldNames, variableAt, visible } from '../../cel/variables.ts'
import type { Code } from '../../diagnostics/codes.ts'
import type { CelScope, Problem } from '../../schema/builder.ts'
import { failedPlace } from './failed-place.ts'
import type { EvalState } from './state.ts'

/** Evaluation phases, by the names that users give. */
export const PHASES = {
  connection: 'connection',
  request: 'request',
  llm: 'llmRequest',
  mcp: 'mcp',
  response: 'response',
  usage: 'usage',
  log: 'log',
  target: 'target',
} as const satisfies Readonly<Record<string, CelScope>>
export type Phase = keyof typeof PHASES

/** An expression or part of one, with its outcome: a value, or the reason why there is none. */
export interface Evaluated {
  readonly expression: string
  /** The static type. */
  readonly type: string
  readonly value?: unknown
  readonly error?: string
  /** The location of the failure in the whole expression. */
  readonly span?: readonly [start: number, end: number]
  readonly help?: string
}

export interface Evaluation {
  readonly phase: Phase
  readonly whole: Evaluated
  /** Inner ones first, without the whole. */
  readonly steps: readonly Evaluated[]
}

/** Why an expression cannot be evaluated at all. */
export interface Refusal {
  readonly code: Code
  readonly problem: Problem
}

/** Checks the expression for a phase; with `state`, also evaluates it and its parts. */
export function evaluate(text: string, phase: Phase, state: EvalState | undefined): Evaluation | Refusal {
  const cel = createCelCompiler()
  const compiled = cel.compile(text, PHASES[phase], 'any')
  if ('problem' in compiled) return { code: CODES[compiled.kind], problem: compiled.problem }
  const parts = inspectExpression(text, PHASES[phase])
  const evaluated = parts.map(({ text: expression, span, type }): Evaluated => {
    const outcome = state && outcomeOf(cel, expression, phase, state)
    if (state === undefined || outcome === undefined) return { expression, type }
    if (outcome.ok) return { expression, type, value: outcome.value }
    const tell = (part: string) => outcomeOf(cel, part, phase, state)
    const [, error = outcome.error, character] = /^(.*), at character (\d+)$/s.exec(outcome.error) ?? []
    const at = character === undefined ? undefined : span[0] + Number(character) - 1
    return { expression, type, error, ...failedPlace(text, at, parts, tell) }
  })
  return { phase, whole: evaluated.at(-1) as Evaluated, steps: evaluated.slice(0, -1) }
}

/** The field names of an expression's value, valid variable names first. */
export function fieldsAt(text: string, phase: Phase, state: EvalState): readonly string[] {
  const declared = fieldNames(text).filter(name => visible(variableAt(`${text}.${name}`) ?? NO_FIELD, PHASES[phase]))
  const outcome = outcomeOf(createCelCompiler(), text, phase, state)
  const value = outcome?.ok ? outcome.value : undefined
  const own = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  return [...new Set([...declared, ...own.filter(name => /^[A-Za-z_]\w*$/.test(name))])]
}

const NO_FIELD = { type: 'dyn', doc: '' } as const

const CODES = { syntax: 'GW301', type: 'GW302', size: 'GW303' } as const

/** Undefined for a part that is not an expression by itself. */
function outcomeOf(cel: CelCompiler, text: string, phase: Phase, { exchange, extra }: EvalState): Outcome | undefined {
  const compiled = cel.compile(text, PHASES[phase], 'any')
  return 'problem' in compiled ? undefined : compiled.evaluate(exchange, extra)
}
