import type { Environment } from '@marcbachmann/cel-js'
import type { Toolbox } from '../define.ts'
import { CelFailure } from '../failure.ts'
import { HeaderView } from '../header-view.ts'
import { JsonList, JsonMap, MAX_DEPTH, parseJson, Secret } from '../json-view.ts'
import type { Run } from '../run.ts'
import { type CelList, type CelMap, contains, isList, isMap, itemsOf, sizeOf, toJsonText } from '../values.ts'
import { View } from '../view.ts'
import { decodeUtf8 } from './conversions.ts'

/** The types of client data, which any variable may contain. */
export function registerData(environment: Environment): void {
  environment.registerType('JsonMap', JsonMap)
  environment.registerType('JsonList', JsonList)
  environment.registerType('Headers', HeaderView)
  environment.registerType('Secret', { ctor: Secret, fields: {} })
}

/**
 * The functions that read, join and print client data.
 * long: one table of definitions.
 */
export function defineData({ define, operator, run }: Toolbox): void {
  for (const type of ['JsonMap', 'JsonList', 'Headers']) {
    define(`size(${type}): int`, sizeOfData)
    define(`${type}.size(): int`, sizeOfData)
  }
  for (const type of ['list', 'JsonList']) {
    define(`${type}.contains(dyn): bool`, (list: CelList, item: unknown) => contains(list, item, run))
  }
  const concatenate = (a: CelList, b: CelList) => {
    run.charge((sizeOf(a) + sizeOf(b)) >> 3)
    return [...itemsOf(a), ...itemsOf(b)]
  }
  operator('JsonList + JsonList: list', concatenate)
  operator('JsonList + list: list', concatenate)
  operator('list + JsonList: list', concatenate)
  // Only for the checker: operators are evaluated by our own code. See operators.ts.
  const never = (): boolean => false
  operator('int == double: bool', never)
  operator('int == uint: bool', never)
  operator('uint == double: bool', never)
  operator('optional == optional: bool', never)
  for (const sign of ['<', '<=', '>', '>=']) operator(`bytes ${sign} bytes: bool`, never)
  for (const [item, list] of [
    ['int', 'double'],
    ['double', 'int'],
    ['uint', 'int'],
    ['int', 'uint'],
  ]) {
    operator(`${item} in list<${list}>: bool`, never)
  }
  for (const type of ['JsonMap', 'JsonList', 'Headers']) operator(`dyn in ${type}: bool`, never)

  const json = (value: unknown) => readJson(value, run)
  define('json(dyn): dyn', json)
  define('dyn.json(): dyn', json)
  const field = (value: unknown, name: string) => {
    const map = readJson(value, run)
    const found = isMap(map) ? map.get(name) : undefined
    if (found === undefined) throw new CelFailure('no_such_key')
    return found
  }
  define('jsonField(dyn, string): dyn', field)
  define('dyn.jsonField(string): dyn', field)
  for (const name of ['toJson', 'to_json']) {
    define(`${name}(dyn): string`, toJsonText)
    define(`dyn.${name}(): string`, toJsonText)
  }
  define('dyn.merge(dyn): dyn', (a: unknown, b: unknown) => {
    if (!isMap(a) || !isMap(b)) throw new CelFailure('no_matching_overload')
    run.charge((a.size + b.size) >> 2)
    return new Map([...a.entries(), ...b.entries()])
  })
  define('flatten(dyn): dyn', (value: unknown) => flatten(value, 1))
  define('flattenRecursive(dyn): dyn', (value: unknown) => flatten(value, MAX_DEPTH))
  define('flatten_recursive(dyn): dyn', (value: unknown) => flatten(value, MAX_DEPTH))

  define('dyn.unredacted(): string', (value: unknown) => {
    if (value instanceof Secret) return value.reveal()
    throw new CelFailure('no_matching_overload')
  })
  define('variables(): dyn', () => run.variables())
  define('random(): double', () => run.chance.random())
  define('uuid(): string', () => run.chance.uuid())
  const fail = () => {
    throw new CelFailure('failed')
  }
  define('fail(): dyn', fail)
  define('fail(dyn): dyn', fail)
}

/** The number of a header's lines is not the length of its value. */
function sizeOfData(value: CelMap): bigint {
  if (value instanceof JsonList && value.several) throw new CelFailure('several_values')
  return BigInt(value.size)
}

function readJson(value: unknown, run: Run): unknown {
  if (value instanceof Uint8Array) {
    if (value.length === 0) throw new CelFailure('no_body')
    return run.once(value, () => {
      run.charge(value.length >> 8)
      return parseJson(decodeUtf8(value))
    })
  }
  if (typeof value !== 'string') throw new CelFailure('no_matching_overload')
  run.charge(value.length >> 8)
  return parseJson(value)
}

/** `{"a": {"b": 1}}` becomes `{"a.b": 1}`; list indexes become names. `levels`: maximum depth. */
function flatten(value: unknown, levels: number): Map<string, unknown> {
  const entries = childrenOf(value)
  if (!entries) throw new CelFailure('no_matching_overload')
  const out = new Map<string, unknown>()
  const visit = (prefix: string, entries: Iterable<readonly [unknown, unknown]>, left: number): void => {
    for (const [key, item] of entries) {
      const name = prefix === '' ? String(key) : `${prefix}.${String(key)}`
      const below = left > 1 ? childrenOf(item) : undefined
      if (below) visit(name, below, left - 1)
      else out.set(name, item)
    }
  }
  visit('', entries, levels)
  return out
}

function childrenOf(value: unknown): Iterable<readonly [unknown, unknown]> | undefined {
  if (isList(value)) return itemsOf(value).entries()
  return isMap(value) || value instanceof View ? value.entries() : undefined
}
