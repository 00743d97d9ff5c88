import type { Expression, Pattern } from '../cel/expression.ts'
import type { Code } from '../diagnostics/codes.ts'

/**
 * The vocabulary in which every field is declared, once. The static type (`Infer`), the decoded value (`decode.ts`),
 * the JSON Schemas under `schemas/`, the validators, redaction and the reference docs all derive from these
 * declarations.
 */
declare const type: unique symbol

/** `T` is the decoded value that the rest of the program works with (a duration in ms, a compiled expression). */
export interface Schema<T> {
  readonly node: Node
  readonly [type]?: T
}
export type Infer<S> = S extends Schema<infer T> ? T : never

/** The scope of an expression determines its variables. `src/cel` declares the variables of each scope. */
export type CelScope = 'connection' | 'request' | 'llmRequest' | 'mcp' | 'response' | 'usage' | 'log' | 'target'
/** How the field that holds the expression uses its result. */
export type CelResult = 'bool' | 'string' | 'number' | 'duration' | 'expiry' | 'map' | 'any' | 'body' | 'sampling'

export interface Problem {
  readonly message: string
  readonly label?: string
  readonly help?: string
  readonly span?: readonly [number, number]
  /** A valid spelling, offered as a fix. */
  readonly suggestion?: string
}

export type Node =
  | StringNode
  | EnumNode
  | NumberNode
  | { readonly kind: 'boolean' }
  | { readonly kind: 'null' }
  | { readonly kind: 'json' }
  | {
      readonly kind: 'list'
      readonly item: Schema<unknown>
      readonly min: number
      readonly max: number
      readonly isolate: boolean
      readonly unique?: Unique
    }
  | MapNode
  | ObjectNode
  | ShapesNode
  | ParsedNode
  | { readonly kind: 'cel'; readonly scope: CelScope; readonly result: CelResult; readonly max: number }
  | { readonly kind: 'regex'; readonly anchored: boolean }
  | { readonly kind: 'lazy'; readonly name: string; readonly get: () => Schema<unknown> }

export interface StringNode {
  readonly kind: 'string'
  readonly min: number
  readonly max: number
  readonly pattern?: RegExp
  /** Describes in words what `pattern` matches. */
  readonly form?: string
  /**
   * What dumps, logs, traces and errors must redact: all of it, the user and query values of a URL in it, or those and
   * the values of variables.
   */
  readonly secret: boolean | 'inUrl' | 'inArgument'
}
export interface EnumNode {
  readonly kind: 'enum'
  readonly values: readonly string[]
  readonly aliases: Readonly<Record<string, string>>
}
export interface NumberNode {
  readonly kind: 'number' | 'integer'
  readonly min: number
  readonly max: number
}
export interface MapNode {
  readonly kind: 'map'
  readonly value: Schema<unknown>
  readonly min: number
  readonly max: number
  readonly keys?: (key: string) => Problem | undefined
  readonly rules?: readonly ServerRule[]
  /** Values under these keys are redacted like a `secret`. */
  readonly secretKeys?: (key: string, value: unknown) => boolean
  readonly isolate: boolean
}
export interface ObjectNode {
  readonly kind: 'object'
  readonly name: string
  readonly fields: Readonly<Record<string, Field<unknown, FieldMode>>>
  /** The same fields, indexed for decoding. Built lazily: no file contains objects of every kind. */
  readonly index: () => FieldIndex
  readonly exactlyOneOf: readonly (readonly string[])[]
  readonly atMostOneOf: readonly (readonly string[])[]
  readonly atLeastOneOf: readonly (readonly string[])[]
  /** Undeclared keys are kept instead of rejected. */
  readonly open: boolean
  /** An invalid member is reported and dropped; its siblings are still checked and compiled. */
  readonly isolate: boolean
  readonly check?: (value: Record<string, unknown>) => readonly ObjectProblem[]
  readonly rules?: readonly ServerRule[]
  readonly refers?: Reference
  readonly secretField?: SecretField
  readonly patternFields?: PatternFields
  /** The field meant if text is given in place of the object, for help: `path: /v1`. */
  readonly textMeans?: string
  /** Help for common wrong keys, in full sentences. */
  readonly instead?: Readonly<Record<string, string>>
}
/** A field that is a `secret` if this holds, such as the value of a header with a credential's name. */
export interface SecretField {
  readonly name: string
  readonly where: (value: Readonly<Record<string, unknown>>) => boolean
}
/** Text that is a pattern if this holds, such as the value of a match of type regex. It stays text. */
export interface PatternFields {
  readonly names: readonly string[]
  readonly where: (value: Readonly<Record<string, unknown>>) => boolean
}
/**
 * An API server's equivalent of a declaration's check function, as far as possible: a Kubernetes CEL expression over
 * `self`. Defaults are filled in, except those of mutually exclusive fields.
 */
export interface ServerRule {
  readonly rule: string
  readonly message: string
}
/** No two items of a list are equal (`true`), or equal in these fields. */
export type Unique = true | readonly string[]
/** The object refers to another resource by `name` (and `group`, `kind`, `namespace` if present). */
export interface Reference {
  readonly to: 'backend' | 'parent' | 'target' | 'selector' | 'data' | 'model' | 'parameters'
  /** The default kind. */
  readonly kind: string
  /** Data keys that the referenced object must contain: at least one of each group. */
  readonly keys?: readonly (readonly string[])[]
  /** The data key used if its own `key` is unset. */
  readonly defaultKey?: string
}
/** A violated rule over several fields; `path` is relative to the object. GW111 unless `code` is set. */
export interface ObjectProblem extends Problem {
  readonly code?: Code
  readonly path: readonly (string | number)[]
  readonly at: 'key' | 'value' | 'parent'
}
/** Selected by the JSON type of the value: the shorthand forms. */
export interface ShapesNode {
  readonly kind: 'shapes'
  readonly string?: Schema<unknown>
  readonly number?: Schema<unknown>
  readonly boolean?: Schema<unknown>
  readonly null?: Schema<unknown>
  readonly list?: Schema<unknown>
  readonly object?: Schema<unknown>
}
/** Text (or a number) that is parsed: a duration, a size, a URL. */
export interface ParsedNode {
  readonly kind: 'parsed'
  readonly base: Schema<unknown>
  readonly form: string
  readonly parse: (value: unknown) => { readonly value: unknown } | { readonly problem: Problem }
  readonly placeholder: unknown
  /** The part of `parse` that a JSON Schema can express; that of `base` if unset. */
  readonly published?: Readonly<Record<string, unknown>>
  readonly rules?: readonly ServerRule[]
}

export type FieldMode = 'required' | 'optional' | 'default'
export interface Field<T, M extends FieldMode> {
  readonly schema: Schema<T>
  readonly mode: M
  readonly doc: string
  readonly default?: unknown
  /** Other accepted spellings; setting two of them is GW108. */
  readonly aliases?: readonly string[]
  /** The section of the specification. */
  readonly spec?: string
  /** Not served by the engine yet: GW601 with this as the note. */
  readonly unserved?: string
  /** Purely descriptive, without effect, for the reason given. */
  readonly inert?: string
  readonly deprecated?: string
}
export interface NamedField {
  readonly name: string
  readonly field: Field<unknown, FieldMode>
  /** Its position in declaration order. */
  readonly at: number
}
export interface FieldIndex {
  /** In declaration order. */
  readonly list: readonly NamedField[]
  /** Those that matter when absent: required ones, and ones with a default. */
  readonly expected: readonly NamedField[]
  /** Keyed by name and aliases. */
  readonly spelt: ReadonlyMap<string, NamedField>
}
export interface FieldOptions {
  readonly aliases?: readonly string[]
  readonly spec?: string
  readonly unserved?: string
  readonly inert?: string
  readonly deprecated?: string
}

const make = <T>(node: Node): Schema<T> => ({ node })

export interface StringOptions {
  readonly min?: number
  readonly max?: number
  readonly pattern?: RegExp
  readonly form?: string
}
export function string(o: StringOptions = {}): Schema<string> {
  return make({ kind: 'string', min: 0, max: Number.POSITIVE_INFINITY, secret: false, ...o })
}
/** A URL or a reference to one: its user and query values are secrets. */
export function urlText(o: StringOptions = {}): Schema<string> {
  return make({ kind: 'string', min: 0, max: Number.POSITIVE_INFINITY, ...o, secret: 'inUrl' })
}
/** A program argument: secrets of a URL in it are redacted, and variables are shown by name instead of value. */
export function argument(): Schema<string> {
  return make({ kind: 'string', min: 0, max: Number.POSITIVE_INFINITY, secret: 'inArgument' })
}
/** Text that dumps, logs, traces and errors must redact. */
export function secret(o: StringOptions = {}): Schema<string> {
  return make({ kind: 'string', min: 1, max: Number.POSITIVE_INFINITY, ...o, secret: true })
}
export function oneOf<const V extends string>(
  values: readonly V[],
  aliases: Readonly<Record<string, V>> = {},
): Schema<V> {
  return make({ kind: 'enum', values, aliases })
}
export function integer(min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER): Schema<number> {
  return make({ kind: 'integer', min, max })
}
export function number(min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY): Schema<number> {
  return make({ kind: 'number', min, max })
}
export const boolean: Schema<boolean> = make({ kind: 'boolean' })
export const nothing: Schema<null> = make({ kind: 'null' })
/** Any JSON value, kept as it is. */
export const json: Schema<unknown> = make({ kind: 'json' })

export interface CountOptions {
  readonly min?: number
  readonly max?: number
  /** An invalid item is reported and dropped; its siblings are still checked and compiled. */
  readonly isolate?: boolean
}
export interface ListOptions extends CountOptions {
  readonly unique?: Unique
}
export function list<T>(item: Schema<T>, o: ListOptions = {}): Schema<readonly T[]> {
  return make({ kind: 'list', item, min: 0, max: Number.POSITIVE_INFINITY, isolate: false, ...o })
}
export function map<T>(
  value: Schema<T>,
  o: CountOptions & Partial<Pick<MapNode, 'keys' | 'rules' | 'secretKeys'>> = {},
): Schema<Readonly<Record<string, T>>> {
  return make({ kind: 'map', value, min: 0, max: Number.POSITIVE_INFINITY, isolate: false, ...o })
}

export function req<T>(schema: Schema<T>, doc: string, o: FieldOptions = {}): Field<T, 'required'> {
  return { schema, mode: 'required', doc, ...o }
}
export function opt<T>(schema: Schema<T>, doc: string, o: FieldOptions = {}): Field<T, 'optional'> {
  return { schema, mode: 'optional', doc, ...o }
}
/** `value` is given as in a file and decoded like any other value. */
export function def<T>(schema: Schema<T>, value: unknown, doc: string, o: FieldOptions = {}): Field<T, 'default'> {
  return { schema, mode: 'default', default: value, doc, ...o }
}

// biome-ignore lint/suspicious/noExplicitAny: the constraint must accept a Field of every type; no value has type any
export type Fields = Readonly<Record<string, Field<any, FieldMode>>>
export type ObjectOf<F extends Fields> = {
  readonly [K in keyof F as F[K]['mode'] extends 'optional' ? never : K]: Infer<F[K]['schema']>
} & {
  readonly [K in keyof F as F[K]['mode'] extends 'optional' ? K : never]?: Infer<F[K]['schema']>
}
export interface ObjectOptions {
  readonly exactlyOneOf?: readonly (readonly string[])[]
  readonly atMostOneOf?: readonly (readonly string[])[]
  readonly atLeastOneOf?: readonly (readonly string[])[]
  readonly open?: boolean
  readonly isolate?: boolean
  readonly check?: (value: Record<string, unknown>) => readonly ObjectProblem[]
  /** The equivalent of `check` for API servers. */
  readonly rules?: readonly ServerRule[]
  readonly refers?: Reference
  readonly secretField?: SecretField
  readonly patternFields?: PatternFields
  readonly textMeans?: string
  readonly instead?: Readonly<Record<string, string>>
}
/** `name` is the noun used in messages ("unknown field `x` in backend") and the title of its JSON Schema. */
export function object<F extends Fields>(name: string, fields: F, o: ObjectOptions = {}): ObjectSchema<F> {
  const none = { exactlyOneOf: [], atMostOneOf: [], atLeastOneOf: [], open: false, isolate: false }
  return { node: { kind: 'object', name, fields, index: fieldIndex(fields), ...none, ...o } }
}
export function fieldIndex(fields: Fields): () => FieldIndex {
  let made: FieldIndex | undefined
  return () => {
    if (made) return made
    const list = Object.entries(fields).map(([name, field], at) => ({ name, field, at }))
    const expected = list.filter(each => each.field.mode !== 'optional')
    const aliases = list.flatMap(each => (each.field.aliases ?? []).map(alias => [alias, each] as const))
    const spelt = new Map([...aliases.reverse(), ...list.map(each => [each.name, each] as const)])
    made = { list, expected, spelt }
    return made
  }
}
/** An object schema that exposes its fields, so that larger objects can be composed from them. */
export interface ObjectSchema<F extends Fields> extends Schema<ObjectOf<F>> {
  readonly node: ObjectNode & { readonly fields: F }
}

type ShapeOf<S> = { [K in keyof S]: Infer<S[K]> }[keyof S]
export function shapes<S extends Omit<ShapesNode, 'kind'>>(forms: S): Schema<ShapeOf<S>> {
  return make({ kind: 'shapes', ...forms })
}
/** `placeholder` is used if an environment variable is unset. */
export function parsed<B, T>(
  base: Schema<B>,
  form: string,
  parse: (value: B) => { readonly value: T } | { readonly problem: Problem },
  placeholder: T,
  published?: ParsedNode['published'],
  rules?: readonly ServerRule[],
): Schema<T> {
  const node = { kind: 'parsed', base, form, parse: parse as ParsedNode['parse'], placeholder } as const
  return make({ ...node, ...(published === undefined ? {} : { published }), ...(rules === undefined ? {} : { rules }) })
}
/** `message` describes the rule to users. */
export function serverRule(rule: string, message: string): ServerRule {
  return { rule, message }
}
/** Recursive schemas only; `name` becomes the definition's name in the JSON Schema. */
export function lazy<T>(name: string, get: () => Schema<T>): Schema<T> {
  return make({ kind: 'lazy', name, get })
}
export function cel(scope: CelScope, result: CelResult): Schema<Expression> {
  return make({ kind: 'cel', scope, result, max: 16384 })
}
/** `anchored`: the pattern must match the whole text (routes); otherwise it matches anywhere in it. */
export function regex(anchored: boolean): Schema<Pattern> {
  return make({ kind: 'regex', anchored })
}
