import { Failure } from '../../diagnostics/failure.ts'
import type { RequestTrace, Step } from '../events/state.ts'
import { type Evaluated, type Evaluation, evaluate, type Phase } from '../expressions/evaluate.ts'
import { stateAt } from '../expressions/recorded-state.ts'
import type { EvalState } from '../expressions/state.ts'
import { valueText } from '../expressions/value-text.ts'

/**
 * The parts of an expression in a step, each with its value at that time: `request.method = "GET"`. Empty if the
 * recording lacks the data. `isTold`: whether a result agrees with the step.
 */
export type PartsReader = (
  request: RequestTrace,
  step: Step,
  expression: string,
  isTold: (whole: Evaluated) => boolean,
) => readonly string[]

/** Caches its results: a picture is drawn many times. */
export function partsReader(): PartsReader {
  const known = new WeakMap<Step, Map<string, readonly string[]>>()
  return (request, step, expression, isTold) => {
    const own = known.get(step) ?? new Map<string, readonly string[]>()
    known.set(step, own)
    const parts = own.get(expression) ?? partsOf(request, step, expression, isTold)
    own.set(expression, parts)
    return parts
  }
}

/** Most common first. */
const PHASES: readonly Phase[] = ['request', 'response', 'mcp', 'llm', 'usage', 'log']

function partsOf(
  { steps }: RequestTrace,
  step: Step,
  expression: string,
  isTold: (whole: Evaluated) => boolean,
): readonly string[] {
  const state = stateUntil(step, steps)
  if (state === undefined) return []
  for (const phase of PHASES) {
    const evaluation = evaluate(expression, phase, state)
    if ('problem' in evaluation) continue
    const missing = missingVariables(evaluation)
    if (missing.length > 0) return missing
    return isTold(evaluation.whole) ? evaluation.steps.map(partText) : []
  }
  return []
}

/** Undefined for anything that no gateway accepts as a request: a recording may contain anything. */
function stateUntil(step: Step, steps: readonly Step[]): EvalState | undefined {
  try {
    return stateAt(
      steps.slice(0, steps.indexOf(step) + 1).map(({ event }) => event),
      {},
    )
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}

function missingVariables({ whole, steps }: Evaluation): readonly string[] {
  const names = [whole, ...steps].flatMap(({ expression, error }) => {
    return error === NO_VALUE ? (/^\w+/.exec(expression) ?? []) : []
  })
  return [...new Set(names)].map(name =>
    CALLER.has(name) ? `${name}: no policy has set it` : `${name}: its value is not in a trace`,
  )
}

/** Variables that a trace has whenever the request does. */
const CALLER: ReadonlySet<string> = new Set(['jwt', 'apiKey', 'basicAuth'])

const NO_VALUE = 'the variable has no value here'

function partText({ expression, value, error }: Evaluated): string {
  return error === undefined ? `${expression} = ${valueText(value, [])}` : `${expression}: ${error}`
}
