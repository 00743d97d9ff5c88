import type { CelResult } from '../schema/builder.ts'
import { checkProgram, sizeProblem } from './check.ts'
import { createEnvironments, wordsOf } from './environment.ts'
import type { Outcome, Rejection } from './expression.ts'
import { CelFailure, describeFailure, isAbsence, kindOf } from './failure.ts'
import { wrap } from './json-view.ts'
import { createPatternCompiler } from './pattern.ts'
import { type Context, rejection, unknownName } from './problems.ts'
import { convertResult } from './results.ts'
import { harden, prepare } from './rewrite.ts'
import { Run } from './run.ts'
import { adaptSource } from './source/adapt-source.ts'
import { parseProgram } from './syntax-tree.ts'
import { variableNamed } from './variables.ts'

export interface Condition {
  /** The value is a boolean, false if a field is absent. Never throws: a value of another type is a failure. */
  evaluate(variables: Readonly<Record<string, unknown>>): Outcome
}

/** A condition over plain data: `names` are its variables instead of those of requests. */
export function compileCondition(text: string, names: readonly string[]): Condition | Rejection {
  return compileOver(text, names, { result: 'bool', read: wrap, convert: raw => convertResult('bool', raw) })
}

/** How values are converted on their way in and out. */
interface Conversion {
  readonly result: CelResult
  readonly read: (value: unknown) => unknown
  readonly convert: (raw: unknown) => Outcome
}

/** The same for results of any type. */
export function compileOver(
  text: string,
  names: readonly string[],
  { result, read, convert }: Conversion,
): Condition | Rejection {
  const tooLarge = sizeProblem(text)
  if (tooLarge) return tooLarge
  const run = new Run()
  const patterns = createPatternCompiler()
  const environments = createEnvironments(run, patterns)
  const source = adaptSource(text)
  // The scope only matters for names of requests, which are unknown here.
  const context: Context = { text, scope: 'log', functions: environments.functions, place: source.place }
  try {
    const environment = environments.run(wordsOf(source.text))
    for (const name of names) {
      if (!RESERVED.has(name) && !environment.hasVariable(name)) environment.registerVariable(name, 'dyn')
    }
    const program = parseProgram(environment, source.text)
    const facts = prepare(program.ast, run)
    const unknown: Parameters<typeof checkProgram>[2]['unknown'] = (name, node) =>
      names.includes(name) || (environment.hasVariable(name) && !variableNamed(name))
        ? undefined
        : unknownName(node, names, context)
    const refused = checkProgram(program, facts, { context, result, patterns, unknown })
    if (refused) return refused
    const locals = harden(program.ast, run)
    const failed = (error: unknown): Outcome =>
      result === 'bool' && isAbsence(error)
        ? FALSE
        : { ok: false, error: describeFailure(error, source.place), kind: kindOf(error) }
    return {
      evaluate(variables) {
        const root = Object.create(null) as Record<string, unknown>
        for (const name of facts.free.keys()) {
          if (Object.hasOwn(variables, name)) root[name] = read(variables[name])
        }
        run.begin(root)
        try {
          const value = program(root)
          const outcome = value instanceof CelFailure ? failed(value) : convert(value)
          return run.spent ? SPENT : outcome
        } catch (error) {
          return run.spent ? SPENT : failed(error)
        } finally {
          for (const local of locals) {
            local.iterValue = undefined
            local.accuValue = undefined
          }
          run.end()
        }
      },
    }
  } catch (error) {
    return rejection(error, context)
  }
}

/** Reserved words of CEL: not allowed as variables, but allowed after a dot. */
export const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(
    ' ',
  ),
)

const FALSE: Outcome = { ok: true, value: false }
const SPENT: Outcome = { ok: false, error: 'the expression takes too many steps', kind: 'exhausted' }
