import type { CelCompiler, Expression, Pattern, PatternCompiler } from '../cel/expression.ts'
import type { Node, ObjectNode, ParsedNode, Schema } from './builder.ts'
import { decode, INVALID } from './decode.ts'
import { shapeOf } from './redact.ts'

/** A scalar, or a value compared as a whole before its parts are. */
export class Leaf {
  /** As written. */
  readonly shown: unknown
  /** Equal for equal meanings: `60s` and `1m`. */
  readonly key: string
  /** A default that was not written. */
  readonly implied: boolean
  readonly parts: SettledMap | undefined

  constructor(shown: unknown, key: string, implied: boolean, parts?: SettledMap) {
    this.shown = shown
    this.key = key
    this.implied = implied
    this.parts = parts
  }
}

export interface SettledMap {
  readonly [name: string]: Settled
}
/** A normalized value: aliases resolved, defaults filled in, values compared by meaning. */
export type Settled = Leaf | readonly Settled[] | SettledMap

/** Normalizes a value written for `schema`; without one, values are kept literally. So is whatever does not fit. */
export function settle(schema: Schema<unknown> | undefined, value: unknown): Settled {
  return settleNode(schema?.node ?? JSON_NODE, value, false)
}

const JSON_NODE: Node = { kind: 'json' }

function settleNode(node: Node, value: unknown, implied: boolean): Settled {
  switch (node.kind) {
    case 'lazy':
      return settleNode(node.get().node, value, implied)
    case 'parsed':
      return settleParsed(node, value, implied)
    case 'shapes': {
      const form = value === null ? undefined : shapeOf(node, value)
      return form === undefined ? plain(value, implied) : settleNode(form.node, value, implied)
    }
    case 'list':
      return Array.isArray(value) ? value.map(item => settleNode(node.item.node, item, implied)) : plain(value, implied)
    case 'map':
      return isMap(value) ? mapped(value, item => settleNode(node.value.node, item, implied)) : plain(value, implied)
    case 'object':
      return isMap(value) ? settleObject(node, value, implied) : plain(value, implied)
    case 'enum': {
      const name = typeof value === 'string' && Object.hasOwn(node.aliases, value) ? node.aliases[value] : value
      return new Leaf(value, keyOf(name), implied)
    }
    default:
      return plain(value, implied)
  }
}

function settleObject(node: ObjectNode, value: Readonly<Record<string, unknown>>, implied: boolean): SettledMap {
  const { list, spelt } = node.index()
  const out: Record<string, Settled> = Object.create(null)
  for (const [key, item] of Object.entries(value)) {
    const known = spelt.get(key)
    if (item === null && known?.field.mode !== 'required') continue
    out[known?.name ?? key] =
      known === undefined ? plain(item, implied) : settleNode(known.field.schema.node, item, implied)
  }
  for (const { name, field } of list) {
    if (field.mode === 'default' && out[name] === undefined)
      out[name] = settleNode(field.schema.node, field.default, true)
  }
  return out
}

/** A shorthand and its long form normalize to the same value. */
function settleParsed(node: ParsedNode, value: unknown, implied: boolean): Settled {
  const read = decode({ node }, value, [], READING)
  if (read === INVALID) return settleNode(node.base.node, value, implied)
  if (Array.isArray(read) && read.every(item => typeof item !== 'object')) return plain(read, implied)
  const parts = isMap(value) ? settleNode(node.base.node, value, implied) : undefined
  return new Leaf(value, keyOf(read), implied, isSettledMap(parts) ? parts : undefined)
}

const PLAIN_EXPRESSIONS: CelCompiler = {
  functionProblems: [],
  termOf: () => undefined,
  compile: (text, scope, result): Expression => ({
    text: text.trim(),
    scope,
    result,
    roots: new Set(),
    readsRequestBody: false,
    readsResponseBody: false,
    evaluate: () => ({ ok: true, value: null }),
    decide: () => ({ ok: true, value: null }),
  }),
}
const PLAIN_PATTERNS: PatternCompiler = {
  compile: (source): Pattern => ({ source, test: () => false, replaceAll: text => text }),
}
/** Expressions and patterns are compared as text; mistakes were reported when the file was read. */
const READING = { report: () => {}, cel: PLAIN_EXPRESSIONS, patterns: PLAIN_PATTERNS, missing: new Set<never>() }

export function isSettledMap(value: Settled | undefined): value is SettledMap {
  return value !== undefined && !(value instanceof Leaf) && !Array.isArray(value)
}

function plain(value: unknown, implied: boolean): Settled {
  if (Array.isArray(value)) return value.map(item => plain(item, implied))
  return isMap(value) ? mapped(value, item => plain(item, implied)) : new Leaf(value, keyOf(value), implied)
}

function keyOf(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? String(item) : item)) ?? ''
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mapped(value: Readonly<Record<string, unknown>>, change: (item: unknown) => Settled): SettledMap {
  const out: Record<string, Settled> = Object.create(null)
  for (const [key, item] of Object.entries(value)) if (item !== null && item !== undefined) out[key] = change(item)
  return out
}
