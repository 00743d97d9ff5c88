import type { Field } from '../../schema/builder.ts'
import { parseByteSize } from '../../schema/scalars.ts'
import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'

/** Where a ProxyPolicy has the member: a section of its spec, or `mcp` within `backend`. */
export type ClusterSection = 'traffic' | 'frontend' | 'backend' | 'mcp'

/** How a policy is written in Kubernetes resources; the kinds, their CRDs and the translation are made from it. */
export interface ClusterForm {
  readonly section: ClusterSection
  readonly member: string
  /** What may stand there. Unset where another policy declares the member: one may make several policies. */
  readonly field?: Field<unknown, 'optional'>
  /** In `backend`: also on the providers of an AI backend, or there and on MCP targets. Unset: on whole backends alone. */
  readonly on?: 'provider' | 'target'
  /** The standalone policy. Null: the member says nothing about it; undefined: it cannot be carried over. */
  convert(part: Fields, ctx: ClusterContext): unknown
}

/** A resource that a policy reads: a Secret, a ConfigMap. */
export interface ClusterObject {
  /** The kind as the document says it. */
  readonly kindName: string
  readonly kind: { readonly kind: string }
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly raw: Fields
}

/** A standalone policy, or a part of one. */
export type Policies = Record<string, unknown>

/** What the cluster gives to the conversion of one resource's members. */
export interface ClusterContext {
  /** The resource that has the members. */
  readonly holder: ClusterObject
  /** What is wrong with the holder, as a controller writes it into a status. */
  readonly errors: string[]
  readonly withSecrets: boolean
  readonly secrets: ClusterSecrets
  /** Tells that a part is not carried over. */
  lose(part: unknown, message: string): void
  /**
   * `{host}` or `{backend}` of the service that a policy calls. Undefined, and an error of the holder, when it does not
   * exist. `what`: how the error begins.
   */
  target(spec: Fields, what: string): Fields | undefined
  /** The path in `url`, if it has one. */
  urlPath(spec: Fields): string | undefined
  /** The path of a data entry, told as lost when files cannot be referred to. */
  file(part: unknown, object: ClusterObject, key: string): string | undefined
  /** Inline text, or the address of a remote key set. Until a controller has fetched one it is an error of the holder. */
  keySet(part: Fields): unknown
  /** Those of the holder's namespace with these labels. */
  labelled(kind: string, matchLabels: Readonly<Record<string, string>>): readonly ClusterObject[]
  /** The data of a Secret or ConfigMap, sorted by key. */
  entriesOf(object: ClusterObject): readonly { readonly key: string; readonly text: string }[]
  /** The policies of a `backend` section. */
  connection(spec: Fields): Policies
  /** `out` was made of `part`. */
  keep<T extends object>(out: T, part: unknown): T
  /** A value without the marks of where it was written. */
  plain(part: unknown): unknown
  /** The same, which is known to be made of it. */
  kept(part: unknown): unknown
}

interface ClusterSecrets {
  secret(name: string): ClusterObject | undefined
  configMap(name: string): ClusterObject | undefined
  /** The text of the key that `ref` names, in the form in which it may be written; undefined and an error without one. */
  shown(ref: Fields, defaultKey: string, change?: (text: string) => string): string | undefined
}

/** Copies fields under other names; an undefined one is left out. */
export function pick(spec: Fields, names: Readonly<Record<string, string>>): Policies {
  const out: Policies = {}
  for (const [from, to] of Object.entries(names)) if (spec[from] !== undefined) out[to] = spec[from]
  return out
}

/** `[{name, value}]` → `{name: value}`. */
export function byName(items: unknown, value: 'value' | 'expression' = 'value'): Policies | undefined {
  const entries = asItems(items).map(item => [String(item.name ?? item.field), item[value]] as const)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** Leaves out what is undefined. */
export function defined(fields: Readonly<Record<string, unknown>>): Policies {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** Resources write words with a capital. */
export function upper(word: string): string {
  return `${word[0]!.toUpperCase()}${word.slice(1)}`
}

export function lower<T>(value: T): T | string {
  return typeof value === 'string' ? `${value[0]!.toLowerCase()}${value.slice(1)}` : value
}

export function strings(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.map(String) : undefined
}

/** A copy of a map, if it is one. */
export function copied(value: unknown): Policies | undefined {
  const fields = asFields(value)
  return fields && { ...fields }
}

/** A policy that may be written as variants: `one` converts the plain form. */
export function variants(part: Fields, one: (plain: Fields) => Policies | undefined): Policies | undefined {
  const entries = asItems(part.conditional)
  if (entries.length === 0) return one(part)
  const kept = entries.map(entry => {
    const inner = one(asFields(entry.policy) ?? {})
    return inner && defined({ condition: entry.condition, ...inner })
  })
  return kept.includes(undefined) ? undefined : { conditional: kept }
}

/** A plain duration becomes an expression; anything else is one already. */
export function durationOrCel(value: unknown): unknown {
  const text = asText(value)
  return text !== undefined && /^(\d+(\.\d+)?(ns|us|ms|s|m|h))+$/.test(text)
    ? `duration(${JSON.stringify(text)})`
    : value
}

/** Bytes of a quantity such as `8Ki`, as standalone files hold them. */
export function bytesOf(value: unknown): number | undefined {
  const bytes = parseByteSize(String(value))
  return bytes === undefined ? undefined : Math.min(bytes, Number.MAX_SAFE_INTEGER)
}
