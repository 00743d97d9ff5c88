import { Environment } from '@marcbachmann/cel-js'
import type { CelScope } from '../schema/builder.ts'
import { Catalogue, type Registration, toolbox, writtenName } from './define.ts'
import { defineConversions } from './functions/conversions.ts'
import { defineData, registerData } from './functions/data.ts'
import { defineEncoding } from './functions/encoding.ts'
import { defineMacros } from './functions/macros.ts'
import { defineMath } from './functions/math.ts'
import { defineNetwork } from './functions/network.ts'
import { defineStrings } from './functions/strings.ts'
import type { ReplacingPatternCompiler } from './pattern.ts'
import type { Run } from './run.ts'
import { VARIABLES, type VariableField, type VariableType, variableNamed, visible } from './variables.ts'
import { VIEW_CLASSES } from './views.ts'

/** Bounds on the parsed tree; the library is recursive, so they also prevent stack overflows. */
export const LIMITS = {
  maxAstNodes: 4000,
  maxDepth: 64,
  maxListElements: 1000,
  maxMapEntries: 1000,
  maxCallArguments: 32,
}

/** The call forms of a function, by its written name. */
export interface FunctionForms {
  readonly method: ReadonlySet<number>
  readonly plain: ReadonlySet<number>
}

export interface Environments {
  /** For evaluation, with all variables dynamic. Contains what the words refer to. */
  readonly run: (words: readonly string[]) => Environment
  /** For checking, with the declared types of one scope's variables. Contains what the words refer to. */
  readonly check: (words: readonly string[], scope: CelScope) => Environment
  readonly functions: () => ReadonlyMap<string, FunctionForms>
}

/** Environments that lazily register functions, operators and variables when an expression first names them. */
export function createEnvironments(run: Run, patterns: ReplacingPatternCompiler): Environments {
  const catalogue = createCatalogue(run, patterns)
  const base = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: LIMITS,
  })
  registerData(base)
  const running = new Learner(base.clone(), catalogue, registerDynamic)
  const checking = new Map<CelScope, Learner>()
  let functions: ReadonlyMap<string, FunctionForms> | undefined
  return {
    run(words) {
      // `variables()` returns all of them.
      if (words.includes('variables')) running.learn(VARIABLES.map(each => each.name))
      return running.learn(words)
    },
    check(words, scope) {
      const known = checking.get(scope)
      if (known) return known.learn(words)
      const made = new Learner(base.clone(), catalogue, (environment, word) => registerTyped(environment, word, scope))
      checking.set(scope, made)
      return made.learn(words)
    },
    functions() {
      functions ??= formsOf(new Learner(base.clone(), catalogue, () => {}).learn(catalogue.words()))
      return functions
    },
  }
}

/** All words of an expression that may be names; words inside strings and comments are harmless. */
export function wordsOf(text: string): readonly string[] {
  return text.match(/[A-Za-z_]\w*|[=!<>]=|[+<>]/g) ?? []
}

function createCatalogue(run: Run, patterns: ReplacingPatternCompiler): Catalogue {
  const catalogue = new Catalogue()
  const tools = toolbox(catalogue, run, patterns)
  defineData(tools)
  defineNetwork(tools)
  defineConversions(tools)
  defineStrings(tools)
  defineEncoding(tools)
  defineMath(tools)
  defineMacros(tools)
  return catalogue
}

type RegisterVariable = (environment: Environment, word: string) => void

/** An environment that grows. Existing names keep their meaning: all overloads of a name are added together. */
class Learner {
  readonly #environment: Environment
  readonly #catalogue: Catalogue
  readonly #registerVariable: RegisterVariable
  readonly #words = new Set<string>()
  readonly #done = new Set<Registration>()

  constructor(environment: Environment, catalogue: Catalogue, registerVariable: RegisterVariable) {
    this.#environment = environment
    this.#catalogue = catalogue
    this.#registerVariable = registerVariable
  }

  learn(words: Iterable<string>): Environment {
    for (const word of words) if (!this.#words.has(word)) this.#learn(word)
    return this.#environment
  }

  #learn(word: string): void {
    const entries = this.#catalogue.under(word)
    for (const register of entries) {
      if (this.#done.has(register)) continue
      this.#done.add(register)
      register(this.#environment)
    }
    const known = variableNamed(word) !== undefined
    if (known) this.#registerVariable(this.#environment, word)
    // Arbitrary words would make the set grow without bound.
    if (known || entries.length > 0) this.#words.add(word)
  }
}

function registerDynamic(environment: Environment, name: string): void {
  environment.registerVariable(name, 'dyn')
  const view = VIEW_CLASSES.find(each => each.variable === name)
  if (!view) return
  const { ctor, fields } = view
  environment.registerType(view.name, { ctor, fields: Object.fromEntries(fields.map(field => [field, 'dyn'])) })
}

function registerTyped(environment: Environment, name: string, scope: CelScope): void {
  const variable = variableNamed(name)
  if (!variable || !visible(variable, scope)) return
  environment.registerVariable(name, declare(environment, name, variable.type, scope))
}

/**
 * A placeholder for values of declared types: the checker never sees one, and the library would create a class for
 * each.
 */
class Declared {}

/** The library's name for a declared type. Object types are registered under the variable's path. */
function declare(environment: Environment, path: string, type: VariableType, scope: CelScope): string {
  switch (type) {
    case 'strings':
      return 'list<string>'
    case 'timestamp':
      return 'google.protobuf.Timestamp'
    case 'duration':
      return 'google.protobuf.Duration'
  }
  if (typeof type === 'string') return type
  const fields: Record<string, string> = {}
  for (const [name, field] of Object.entries<VariableField>(type)) {
    if (visible(field, scope)) fields[name] = declare(environment, `${path}.${name}`, field.type, scope)
  }
  environment.registerType(path, { ctor: Declared, fields })
  return path
}

function formsOf(environment: Environment): ReadonlyMap<string, FunctionForms> {
  const forms = new Map<string, { method: Set<number>; plain: Set<number> }>()
  for (const { name, receiverType, params } of environment.getDefinitions().functions) {
    const written = writtenName(name)
    const form = forms.get(written) ?? { method: new Set(), plain: new Set() }
    forms.set(written, form)
    const kind = receiverType === null ? form.plain : form.method
    kind.add(params.length)
  }
  return forms
}
