import { defined, isObject, type JsonObject, labelOf, listOf } from '../../chat/json.ts'
import type { Losses } from '../../chat/losses.ts'

/** 64-bit integers, which are strings in Google's JSON. */
export const SIZES = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const
/** Keywords of Gemini's JSON Schema dialect: https://ai.google.dev/api/caching#Schema */
const KEPT = new Set([
  'type',
  'format',
  'description',
  'title',
  'nullable',
  'enum',
  'items',
  'properties',
  'required',
  'anyOf',
  'default',
  'pattern',
  'minimum',
  'maximum',
  'propertyOrdering',
  ...SIZES,
])
/** Keywords that do not restrict values, or that every tool schema has. */
const SILENT = new Set([
  '$schema',
  '$id',
  '$defs',
  'definitions',
  '$comment',
  'examples',
  'additionalProperties',
  'strict',
  'format',
])
const MAX_DEPTH = 64

/** A JSON Schema in Gemini's dialect; unsupported keywords are recorded in `losses` below `at`. */
export function geminiSchema(schema: unknown, at: string, losses: Losses): JsonObject {
  if (!isObject(schema)) return { type: 'OBJECT' }
  const defs = { ...(schema.definitions as object), ...(schema.$defs as object) } as JsonObject
  return shouted(new Normalizer(defs, losses).node(schema, at, 0, []))
}

/** Types and sizes in Gemini's notation. */
function shouted(node: JsonObject): JsonObject {
  const { type, properties, items, anyOf } = node
  const sizes = SIZES.filter(name => node[name] !== undefined).map(name => [name, labelOf(node[name])])
  return defined({
    ...node,
    ...Object.fromEntries(sizes),
    type: typeof type === 'string' ? type.toUpperCase() : undefined,
    properties: isObject(properties) ? mapValues(properties) : properties,
    items: isObject(items) ? shouted(items) : items,
    anyOf: Array.isArray(anyOf) ? anyOf.map(each => (isObject(each) ? shouted(each) : each)) : anyOf,
  })
}

function mapValues(nodes: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(nodes).map(([name, each]) => [name, isObject(each) ? shouted(each) : each]))
}

class Normalizer {
  readonly #defs: JsonObject
  readonly #losses: Losses

  constructor(defs: JsonObject, losses: Losses) {
    this.#defs = defs
    this.#losses = losses
  }

  node(given: JsonObject, at: string, depth: number, within: readonly string[]): JsonObject {
    if (depth > MAX_DEPTH) {
      this.#losses.add(at, 'Gemini takes no schema nested this deep; any object allowed')
      return { type: 'object' }
    }
    const { node, names } = this.#resolve(given, within)
    const flat = single(flattenAll(node))
    const out: JsonObject = {}
    for (const key in flat) {
      if (KEPT.has(key)) out[key] = flat[key]
      else if (!SILENT.has(key)) this.#losses.drop(`${at}.${key}`, `\`${key}\` in schemas`)
    }
    return this.#children(typed(out), at, depth + 1, names)
  }

  #children(out: JsonObject, at: string, depth: number, names: readonly string[]): JsonObject {
    if (isObject(out.properties)) {
      const properties: JsonObject = {}
      for (const name in out.properties) {
        const child = out.properties[name]
        properties[name] = this.node(isObject(child) ? child : {}, `${at}.properties.${name}`, depth, names)
      }
      out.properties = properties
    }
    if (out.type === 'array') out.items = this.node(isObject(out.items) ? out.items : {}, `${at}.items`, depth, names)
    if (Array.isArray(out.anyOf)) {
      out.anyOf = out.anyOf.map((child, i) =>
        this.node(isObject(child) ? child : {}, `${at}.anyOf[${i}]`, depth, names),
      )
    }
    return out
  }

  /** Inlines the referenced definition; a recursive one becomes an unrestricted object. */
  #resolve(node: JsonObject, within: readonly string[]): { node: JsonObject; names: readonly string[] } {
    let names = within
    for (let current = node; ; ) {
      const name = typeof current.$ref === 'string' ? current.$ref.split('/').at(-1) : undefined
      if (name === undefined) return { node: current, names }
      const { $ref: _, ...own } = current
      const target = Object.hasOwn(this.#defs, name) ? this.#defs[name] : undefined
      if (names.includes(name) || !isObject(target)) return { node: own, names }
      names = [...names, name]
      current = { ...target, ...own }
    }
  }
}

/** Merges the members of `allOf`; the first one to set a keyword wins. */
function flattenAll(node: JsonObject): JsonObject {
  if (!Array.isArray(node.allOf)) return node
  const { allOf, ...own } = node
  return allOf.filter(isObject).map(flattenAll).reduce(merge, own)
}

function merge(one: JsonObject, other: JsonObject): JsonObject {
  const out: JsonObject = { ...other, ...one }
  if (isObject(one.properties) && isObject(other.properties))
    out.properties = { ...other.properties, ...one.properties }
  if (Array.isArray(one.required) && Array.isArray(other.required)) {
    out.required = [...new Set([...one.required, ...other.required])]
  }
  return out
}

/** Reduces to one type: null becomes `nullable`, a constant an enumeration, several types alternatives. */
function single(node: JsonObject): JsonObject {
  const { const: constant, ...rest } = node
  let out: JsonObject = constant === undefined ? rest : { type: typeName(constant), ...rest, enum: [constant] }
  if (Array.isArray(out.type)) {
    const types = out.type.filter(type => type !== 'null')
    const nullable = types.length < out.type.length ? { nullable: true } : {}
    const { type: _, ...others } = out
    out =
      types.length === 1
        ? { ...others, type: types[0], ...nullable }
        : { ...others, anyOf: types.map(type => ({ type })), ...nullable }
  }
  if (Array.isArray(out.anyOf)) {
    const kept = out.anyOf.filter(each => !(isObject(each) && each.type === 'null'))
    const nullable = kept.length < out.anyOf.length ? { nullable: true } : {}
    const { anyOf: _, ...others } = out
    const [only] = kept
    out =
      kept.length === 1 && isObject(only)
        ? { ...single(flattenAll(only)), ...others, ...nullable }
        : { ...others, anyOf: kept, ...nullable }
  }
  return out
}

function typeName(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'boolean' ? 'boolean' : 'string'
}

function typed(node: JsonObject): JsonObject {
  if (node.type === undefined && !Array.isArray(node.anyOf)) {
    node.type = Array.isArray(node.enum) ? 'string' : isObject(node.items) ? 'array' : 'object'
  }
  if (Array.isArray(node.enum)) {
    if (node.type === 'string')
      node.enum = listOf(node.enum)
        .filter(each => each !== null)
        .map(String)
    else delete node.enum
  }
  if (node.format !== undefined && node.format !== 'enum' && node.format !== 'date-time') delete node.format
  return node
}
