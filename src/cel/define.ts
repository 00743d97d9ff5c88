import type { Environment } from '@marcbachmann/cel-js'
import type { ReplacingPatternCompiler } from './pattern.ts'
import type { Run } from './run.ts'

/**
 * Functions of the library that ours stand in for: it refuses overloads of its own signatures, so calls to these names
 * are renamed in the parsed tree and ours are registered under the other name.
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

/** The name as the author wrote it. */
export function writtenName(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name
}

/** Registers one overload: `name(types): type` or `Type.name(types): type`. */
export type Define = (signature: string, run: (...args: never[]) => unknown) => void

export interface Toolbox {
  readonly environment: Environment
  readonly define: Define
  /** A name whose methods are functions: `base64.encode(x)`. */
  readonly namespace: (name: string, functions: Readonly<Record<string, Overload | readonly Overload[]>>) => void
  readonly run: Run
  readonly patterns: ReplacingPatternCompiler
}
/** Parameter types, result type, implementation. */
export type Overload = readonly [parameters: string, result: string, run: (...args: never[]) => unknown]

export function toolbox(environment: Environment, run: Run, patterns: ReplacingPatternCompiler): Toolbox {
  const define: Define = (signature, handler) => {
    const named = signature.replace(/^(.*?\.)?(\w+)(?=\()/, (_, receiver: string | undefined, name: string) => {
      return (receiver ?? '') + (REPLACED.has(name) ? ownName(name) : name)
    })
    environment.registerFunction(named, handler as (...args: unknown[]) => unknown, { async: false })
  }
  const namespace: Toolbox['namespace'] = (name, functions) => {
    class Marker {}
    const type = `${name[0]?.toUpperCase()}${name.slice(1)}Functions`
    environment.registerType(type, { ctor: Marker, fields: {} })
    environment.registerConstant(name, type, new Marker())
    for (const [method, overloads] of Object.entries(functions)) {
      const list = (typeof overloads[0] === 'string' ? [overloads] : overloads) as readonly Overload[]
      for (const [parameters, result, handler] of list) {
        const call = handler as (...args: unknown[]) => unknown
        define(`${type}.${method}(${parameters}): ${result}`, ((_: unknown, ...args: unknown[]) =>
          call(...args)) as never)
      }
    }
  }
  return { environment, define, namespace, run, patterns }
}

/** The parameter lists `dyn`, `dyn, dyn`, … up to `most` parameters. */
export function upTo(most: number, type: string): string[] {
  return Array.from({ length: most }, (_, i) =>
    Array<string>(i + 1)
      .fill(type)
      .join(', '),
  )
}
