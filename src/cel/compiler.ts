import { credentialHeaders } from '../http/credential-names.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Chance } from '../runtime/runtime.ts'
import type { CelResult, CelScope, Problem } from '../schema/builder.ts'
import type { TraceScope } from '../trace/trace-event.ts'
import { checkProgram, sizeProblem, throwIfInvalid, unreadableLiteral } from './check.ts'
import { createEnvironments, type Environments, wordsOf } from './environment.ts'
import type { CelCompiler, Expression, Outcome, Rejection } from './expression.ts'
import { CelFailure, describeFailure, kindOf } from './failure.ts'
import { createPatternCompiler, type ReplacingPatternCompiler } from './pattern.ts'
import { type Context, rejection, unknownVariable } from './problems.ts'
import { convertResult } from './results.ts'
import { harden, prepare, type TreeFacts } from './rewrite.ts'
import { Run } from './run.ts'
import { adaptSource } from './source/adapt-source.ts'
import { type CheckBody, checkFunctions } from './source/check-functions.ts'
import { CustomFunctions } from './source/custom-functions.ts'
import { type LocalScope, type Program, parseProgram } from './syntax-tree.ts'
import { createTermReader } from './terms/term-reader.ts'
import { VARIABLES, variableNamed, visible } from './variables.ts'
import { buildVariable, type EnvironmentFacts, fromExtra, type ViewSettings } from './views.ts'

export interface CelCompilerOptions {
  /** The content of the variable `env`. */
  readonly environment?: EnvironmentFacts
  /** Header fields that `.redacted()` hides in addition to known credential fields. */
  readonly sensitiveHeaders?: readonly string[]
  /** Shared with other users, so that each pattern is compiled once. */
  readonly patterns?: ReplacingPatternCompiler
  /** Functions written in CEL, as in `config.customFunctions`. */
  readonly functions?: string
  /** For `random()` and `uuid()`; the process's if unset. */
  readonly chance?: Chance
}

/** Expressions cached for sharing: routes generated from one template repeat them. */
const CACHED_EXPRESSIONS = 1000

/**
 * The expressions of one compiler share its pattern cache and run one at a time. Identical text in the same scope and
 * with the same result type is compiled once.
 */
export function createCelCompiler(options: CelCompilerOptions = {}): CelCompiler {
  const patterns = options.patterns ?? createPatternCompiler()
  const run = new Run(options.chance)
  const environments = createEnvironments(run, patterns)
  const settings = viewSettings(options)
  const shared: Shared = { environments, patterns, run }
  const custom = options.functions ? customFunctions(options.functions, environments) : undefined
  const functions = custom ? () => custom.forms() : environments.functions
  const checkBody: CheckBody = ({ text }, context) => check(text, wordsOf(text), context, 'any', shared)
  const kept = new Map<string, Expression | Rejection>()
  let readTerm: CelCompiler['termOf'] | undefined
  return {
    functionProblems: custom ? checkFunctions(custom, checkBody) : [],
    termOf(text) {
      readTerm ??= createTermReader()
      return readTerm(text)
    },
    compile(text, scope, result) {
      const tooLarge = sizeProblem(text)
      if (tooLarge) return tooLarge
      const key = `${scope} ${result} ${text}`
      const known = kept.get(key)
      if (known) return known
      const made = compile(text, scope, result)
      if (kept.size < CACHED_EXPRESSIONS) kept.set(key, made)
      return made
    },
  }

  function compile(text: string, scope: CelScope, result: CelResult): Expression | Rejection {
    const adapted = adaptSource(result === 'duration' || result === 'expiry' ? quoteDuration(text) : text)
    let context: Context = { text, scope, functions, place: adapted.place }
    try {
      const source = custom ? custom.expand(adapted) : adapted
      context = { ...context, place: source.place }
      const words = wordsOf(source.text)
      const refused = check(source.text, words, context, result, shared)
      if (refused) return refused
      const program = parseProgram(environments.run(words), source.text)
      const facts = prepare(program.ast, run)
      throwIfInvalid(program)
      const locals = harden(program.ast, run)
      return new CompiledExpression({
        text,
        scope,
        result,
        program,
        facts,
        locals,
        run,
        place: source.place,
        settings,
        doubt: unreadableLiteral(facts, false, context),
      })
    } catch (error) {
      return rejection(error, context)
    }
  }
}

function viewSettings({ environment = {}, sensitiveHeaders = [] }: CelCompilerOptions): ViewSettings {
  const hidden = [...credentialHeaders(), ...sensitiveHeaders]
  return { environment, sensitive: new Set(hidden.map(name => name.toLowerCase())) }
}

function customFunctions(text: string, environments: Environments): CustomFunctions {
  return new CustomFunctions({
    text,
    parse: text => parseProgram(environments.run(wordsOf(text)), text).ast,
    builtin: environments.functions,
  })
}

/** Where a duration is expected, `2s` may be unquoted (specification, Delay and extAuth cache). */
function quoteDuration(text: string): string {
  return /^\s*(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+\s*$/.test(text) ? JSON.stringify(text.trim()) : text
}

/** Shared by all expressions of one compiler. */
interface Shared {
  readonly environments: Environments
  readonly patterns: ReplacingPatternCompiler
  readonly run: Run
}

/** Checks against the variables and types of the scope; throws the library's own error for a violation. */
function check(
  source: string,
  words: readonly string[],
  context: Context,
  result: CelResult,
  { environments, patterns, run }: Shared,
): Rejection | undefined {
  const environment = environments.check(words, context.scope)
  const program = parseProgram(environment, source)
  return checkProgram(program, prepare(program.ast, run), {
    context,
    result,
    patterns,
    unknown: (name, node) => (environment.hasVariable(name) ? undefined : unknownVariable(node, context)),
  })
}

interface Parts {
  readonly text: string
  readonly scope: CelScope
  readonly result: CelResult
  readonly program: Program
  readonly facts: TreeFacts
  readonly locals: readonly LocalScope[]
  readonly run: Run
  readonly place: (offset: number) => number
  readonly settings: ViewSettings
  readonly doubt: Problem | undefined
}

class CompiledExpression implements Expression {
  readonly text: string
  readonly scope: CelScope
  readonly result: CelResult
  readonly roots: ReadonlySet<string>
  readonly readsRequestBody: boolean
  readonly readsResponseBody: boolean
  readonly flattens: boolean
  readonly doubt: Problem | undefined
  readonly #parts: Parts
  readonly #names: readonly string[]
  /** Cached outcomes for absent values, by failure. */
  readonly #absences = new Map<CelFailure, Outcome>()
  /** For `true` and `false`, which configurations use as switches. */
  readonly #constant: Outcome | undefined

  constructor(parts: Parts) {
    const { facts, scope } = parts
    this.text = parts.text
    this.scope = scope
    this.result = parts.result
    this.#parts = parts
    const all = facts.callsVariables ? VARIABLES.filter(each => visible(each, scope)).map(each => each.name) : []
    this.roots = new Set([...[...facts.free.keys()].filter(name => variableNamed(name)), ...all])
    this.readsRequestBody = facts.bodies.has('request') || all.includes('request')
    this.readsResponseBody = facts.bodies.has('response') || all.includes('response')
    this.flattens = facts.flattens
    this.doubt = parts.doubt
    this.#names = [...this.roots]
    const text = parts.text.trim()
    if (parts.result === 'bool' && (text === 'true' || text === 'false'))
      this.#constant = convertResult(parts.result, text === 'true')
  }

  evaluate(x: Exchange, extra?: Readonly<Record<string, unknown>>): Outcome {
    if (x.trace) return this.#traced(x, x.trace, extra, false)
    return this.#constant ?? this.#evaluate(x, extra, false)
  }

  decide(x: Exchange, extra?: Readonly<Record<string, unknown>>): Outcome {
    if (x.trace) return this.#traced(x, x.trace, extra, true)
    return this.#constant ?? this.#evaluate(x, extra, true)
  }

  #traced(
    x: Exchange,
    trace: TraceScope,
    extra: Readonly<Record<string, unknown>> | undefined,
    guards: boolean,
  ): Outcome {
    const from = trace.now()
    const outcome = this.#evaluate(x, extra, guards)
    const told = outcome.ok ? { result: traceSummary(outcome.value) } : { error: outcome.error }
    trace.emit({ type: 'cel', expression: this.text, ...told }, { from })
    return outcome
  }

  #evaluate(x: Exchange, extra: Readonly<Record<string, unknown>> | undefined, guards: boolean): Outcome {
    const { program, locals, run, place, settings, result } = this.#parts
    const { stackTraceLimit } = Error
    // The stack of a failure is never shown, and collecting it costs more than the evaluation.
    Error.stackTraceLimit = 0
    const root: Record<string, unknown> = Object.create(null) as Record<string, unknown>
    run.begin(root, guards)
    try {
      for (const name of this.#names) {
        const given = extra && Object.hasOwn(extra, name)
        const value = given ? fromExtra(name, extra[name], settings) : buildVariable(name, x, settings)
        if (value !== undefined) root[name] = value
      }
      const value = program(root)
      const outcome = value instanceof CelFailure ? this.#given(value) : convertResult(result, value)
      return run.spent ? BUDGET_SPENT : outcome
    } catch (error) {
      return run.spent ? BUDGET_SPENT : { ok: false, error: describeFailure(error, place), kind: kindOf(error) }
    } finally {
      for (const name of this.#names) root[name] = undefined
      for (const local of locals) {
        local.iterValue = undefined
        local.accuValue = undefined
      }
      run.end()
      Error.stackTraceLimit = stackTraceLimit
    }
  }

  /** A returned failure is the same object each time. */
  #given(failure: CelFailure): Outcome {
    let outcome = this.#absences.get(failure)
    if (outcome === undefined) {
      outcome = { ok: false, error: describeFailure(failure, this.#parts.place), kind: kindOf(failure) }
      this.#absences.set(failure, outcome)
    }
    return outcome
  }
}

/** A value that may be traced: text, bytes or an object may be or contain a credential. */
function traceSummary(value: unknown): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return `<text of ${value.length} character${value.length === 1 ? '' : 's'}>`
  if (Buffer.isBuffer(value)) return `<${value.length} bytes>`
  if (Array.isArray(value)) return `<list of ${value.length}>`
  return value instanceof Date ? value.toISOString() : `<map of ${Object.keys(Object(value)).length}>`
}

const BUDGET_SPENT: Outcome = { ok: false, error: 'the expression takes too many steps', kind: 'exhausted' }
