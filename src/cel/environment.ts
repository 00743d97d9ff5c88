import { Environment } from '@marcbachmann/cel-js'
import type { CelScope } from '../schema/builder.ts'
import { defineConversions } from './conversions.ts'
import { defineData } from './data.ts'
import { toolbox, writtenName } from './define.ts'
import { defineEncoding } from './encoding.ts'
import { defineMacros } from './macros.ts'
import { defineMath } from './math.ts'
import { defineNetwork } from './network.ts'
import type { ReplacingPatternCompiler } from './pattern.ts'
import type { Run } from './run.ts'
import { defineStrings } from './strings.ts'
import { VARIABLES, type VariableField, type VariableType, visible } from './variables.ts'
import { VIEW_CLASSES } from './views.ts'

/** Bounds on the parsed tree; the library recurses, so they also keep it clear of the end of the stack. */
const LIMITS = { maxAstNodes: 4000, maxDepth: 64, maxListElements: 1000, maxMapEntries: 1000, maxCallArguments: 32 }

/** How a function may be called, by its written name. */
export interface FunctionForms {
  readonly method: ReadonlySet<number>
  readonly plain: ReadonlySet<number>
}

export interface Environments {
  /** Every variable is dynamic: the one that expressions run in. */
  readonly run: Environment
  /** The variables of one scope, with their declared types. */
  readonly check: (scope: CelScope) => Environment
  readonly functions: () => ReadonlyMap<string, FunctionForms>
}

export function createEnvironments(run: Run, patterns: ReplacingPatternCompiler): Environments {
  const base = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: LIMITS,
  })
  const tools = toolbox(base, run, patterns)
  defineData(tools)
  defineNetwork(tools)
  defineConversions(tools)
  defineStrings(tools)
  defineEncoding(tools)
  defineMath(tools)
  defineMacros(tools)
  for (const { name, ctor, fields } of VIEW_CLASSES) {
    base.registerType(name, { ctor, fields: Object.fromEntries(fields.map(field => [field, 'dyn'])) })
  }

  const running = base.clone()
  for (const { name } of VARIABLES) running.registerVariable(name, 'dyn')
  const checking = new Map<CelScope, Environment>()
  let functions: ReadonlyMap<string, FunctionForms> | undefined
  return {
    run: running,
    check(scope) {
      const known = checking.get(scope)
      if (known) return known
      const made = base.clone()
      for (const variable of VARIABLES) {
        if (visible(variable, scope))
          made.registerVariable(variable.name, declare(made, variable.name, variable.type, scope))
      }
      checking.set(scope, made)
      return made
    },
    functions() {
      functions ??= formsOf(base)
      return functions
    },
  }
}

/** The library's name for a declared type. Object types are registered under the path of the variable. */
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
  environment.registerType(path, { fields })
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
