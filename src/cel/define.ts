import type { Environment } from '@marcbachmann/cel-js'
import type { ReplacingPatternCompiler } from './pattern.ts'
import type { Run } from './run.ts'
import type { Macro, MacroCall } from './syntax-tree.ts'

/**
 * Library functions that ours replace: it rejects overloads of its own signatures, so calls to these names are renamed
 * in the parsed tree and ours are registered under the new name.
 */
export const REPLACED: ReadonlySet<string> = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'getMilliseconds',
  'indexOf',
  'int',
  'join',
  'json',
  'lastIndexOf',
  'lowerAscii',
  'matches',
  'split',
  'string',
  'substring',
  'timestamp',
  'trim',
  'type',
  'uint',
  'upperAscii',
])
const PREFIX = 'gw_'

export function ownName(name: string): string {
  return PREFIX + name
}

/** The original name. */
export function writtenName(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name
}

/** Declares one overload: `name(types): type` or `Type.name(types): type`. */
export type Define = (signature: string, run: (...args: never[]) => unknown) => void

export interface Toolbox {
  readonly define: Define
  /** Declares a call whose arguments are expanded instead of evaluated. */
  readonly macro: (signature: string, expand: (call: MacroCall) => Macro) => void
  /** Declares one overload of an operator: `A + B: C`. */
  readonly operator: (signature: string, run: (...args: never[]) => unknown) => void
  /** A name whose methods are functions: `base64.encode(x)`. */
  readonly namespace: (name: string, functions: Readonly<Record<string, Overload | readonly Overload[]>>) => void
  /** The same tools for functions whose signatures need custom types, which `register` declares. */
  readonly withTypes: (register: (environment: Environment) => void) => Pick<Toolbox, 'define' | 'operator'>
  readonly run: Run
  readonly patterns: ReplacingPatternCompiler
}
/** Parameter types, result type, implementation. */
export type Overload = readonly [parameters: string, result: string, run: (...args: never[]) => unknown]

/** Registers something in an environment, once. */
export type Registration = (environment: Environment) => void

/**
 * Registrations of the functions and operators, indexed by the word that an expression must contain to use them:
 * registering everything takes longer than the rest of a cold start.
 */
export class Catalogue {
  readonly #entries = new Map<string, Registration[]>()

  add(word: string, register: Registration): void {
    const entries = this.#entries.get(word)
    if (entries) entries.push(register)
    else this.#entries.set(word, [register])
  }

  under(word: string): readonly Registration[] {
    return this.#entries.get(word) ?? []
  }

  words(): Iterable<string> {
    return this.#entries.keys()
  }
}

const OPERATOR = /^[\w.]+ (\S+) /
const FUNCTION = /^(.*?\.)?(\w+)(?=\()/
type Handler = (...args: unknown[]) => unknown

export function toolbox(catalogue: Catalogue, run: Run, patterns: ReplacingPatternCompiler): Toolbox {
  const tools = (types?: Registration) => {
    const add = (word: string, register: Registration) => {
      if (types) catalogue.add(word, types)
      catalogue.add(word, register)
    }
    const define = (signature: string, handler: unknown) => {
      const [start = '', receiver = '', name = ''] = FUNCTION.exec(signature) ?? []
      const known = REPLACED.has(name) ? ownName(name) : name
      const full = receiver + known + signature.slice(start.length)
      add(name, environment => environment.registerFunction(full, handler as Handler, { async: false }))
    }
    const operator: Toolbox['operator'] = (signature, handler) => {
      const [, sign = ''] = OPERATOR.exec(signature) ?? []
      const register: Registration = environment => environment.registerOperator(signature, handler as Handler)
      add(sign, register)
      // The library derives `!=` from `==`.
      if (sign === '==') add('!=', register)
    }
    return { add, define, operator }
  }
  const namespace: Toolbox['namespace'] = (name, functions) => {
    class Marker {}
    const type = `${name[0]?.toUpperCase()}${name.slice(1)}Functions`
    const { add, define } = tools(environment => {
      environment.registerType(type, { ctor: Marker, fields: {} })
      environment.registerConstant(name, type, new Marker())
    })
    add(name, () => {})
    for (const [method, overloads] of Object.entries(functions)) {
      const list = (typeof overloads[0] === 'string' ? [overloads] : overloads) as readonly Overload[]
      for (const [parameters, result, handler] of list) {
        const call = handler as Handler
        define(`${type}.${method}(${parameters}): ${result}`, (_: unknown, ...args: unknown[]) => call(...args))
      }
    }
  }
  const { define, operator } = tools()
  return { define, macro: define, operator, namespace, withTypes: tools, run, patterns }
}

/** The parameter lists `dyn`, `dyn, dyn`, … with up to `most` parameters. */
export function upTo(most: number, type: string): string[] {
  return Array.from({ length: most }, (_, i) =>
    Array<string>(i + 1)
      .fill(type)
      .join(', '),
  )
}
