import type { Field } from '../../schema/builder.ts'
import { parseByteSize } from '../../schema/scalars.ts'
import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'

/** The section of a ProxyPolicy that contains the member; `mcp` is within `backend`. */
export type ClusterSection = 'traffic' | 'frontend' | 'backend' | 'mcp'

/** The form of a policy in Kubernetes resources; the kinds, their CRDs and the translation are generated from it. */
export interface ClusterForm {
  readonly section: ClusterSection
  readonly member: string
  /** Its schema. Unset if another policy declares the member: one member may translate to several policies. */
  readonly field?: Field<unknown, 'optional'>
  /**
   * In `backend`: whether it is also allowed on providers of an AI backend, or on those and MCP targets. Unset for
   * whole backends only.
   */
  readonly on?: 'provider' | 'target'
  /** Returns the standalone policy. Null: the member does not affect it; undefined: it cannot be translated. */
  convert(part: Fields, ctx: ClusterContext): unknown
}

/** A resource referenced by a policy: a Secret, a ConfigMap. */
export interface ClusterObject {
  /** The kind as written in the document. */
  readonly kindName: string
  readonly kind: { readonly kind: string }
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly raw: Fields
}

/** A standalone policy, or a part of one. */
export type Policies = Record<string, unknown>

/** Cluster context for converting one resource's members. */
export interface ClusterContext {
  /** The resource that contains the members. */
  readonly holder: ClusterObject
  /** Errors of the holder, as a controller reports them in its status. */
  readonly errors: string[]
  readonly withSecrets: boolean
  readonly secrets: ClusterSecrets
  /** Reports that a part is not translated. */
  lose(part: unknown, message: string): void
  /**
   * `{host}` or `{backend}` of the service that a policy calls. Undefined, with an error on the holder, if it does not
   * exist. `what`: how the error begins.
   */
  target(spec: Fields, what: string): Fields | undefined
  /** The path in `url`, if it has one. */
  urlPath(spec: Fields): string | undefined
  /** The path of a data entry; reported as lost if files cannot be referenced. */
  file(part: unknown, object: ClusterObject, key: string): string | undefined
  /** Inline text, or the URL of a remote key set. Until a controller has fetched it, this is an error on the holder. */
  keySet(part: Fields): unknown
  /** Objects of the holder's namespace with these labels. */
  labelled(kind: string, matchLabels: Readonly<Record<string, string>>): readonly ClusterObject[]
  /** The data of a Secret or ConfigMap, sorted by key. */
  entriesOf(object: ClusterObject): readonly { readonly key: string; readonly text: string }[]
  /** The policies of a `backend` section. */
  connection(spec: Fields): Policies
  /** Records that `out` was derived from `part`. */
  keep<T extends object>(out: T, part: unknown): T
  /** The value without source location marks. */
  plain(part: unknown): unknown
  /** The same value, recorded as derived from it. */
  kept(part: unknown): unknown
}

interface ClusterSecrets {
  secret(name: string): ClusterObject | undefined
  configMap(name: string): ClusterObject | undefined
  /** The text of the key that `ref` names, as it may be written; undefined, with an error, if missing. */
  shown(ref: Fields, defaultKey: string, change?: (text: string) => string): string | undefined
}

/** Copies fields under new names, skipping undefined ones. */
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

/** Drops undefined fields. */
export function defined(fields: Readonly<Record<string, unknown>>): Policies {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** Resources capitalize enum values. */
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

/** Converts a policy that may have variants; `one` converts the plain form. */
export function variants(part: Fields, one: (plain: Fields) => Policies | undefined): Policies | undefined {
  const entries = asItems(part.conditional)
  if (entries.length === 0) return one(part)
  const kept = entries.map(entry => {
    const inner = one(asFields(entry.policy) ?? {})
    return inner && defined({ condition: entry.condition, ...inner })
  })
  return kept.includes(undefined) ? undefined : { conditional: kept }
}

/** Converts a plain duration to an expression; anything else already is one. */
export function durationOrCel(value: unknown): unknown {
  const text = asText(value)
  return text !== undefined && /^(\d+(\.\d+)?(ns|us|ms|s|m|h))+$/.test(text)
    ? `duration(${JSON.stringify(text)})`
    : value
}

/** Bytes of a quantity such as `8Ki`, as standalone files write them. */
export function bytesOf(value: unknown): number | undefined {
  const bytes = parseByteSize(String(value))
  return bytes === undefined ? undefined : Math.min(bytes, Number.MAX_SAFE_INTEGER)
}
