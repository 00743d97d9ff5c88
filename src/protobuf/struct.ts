import { bool, double, field, int32, int64, type Kind, later, mapOf, message, repeated, text } from './message.ts'

// google.protobuf.Struct, Value, Duration and Timestamp.

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
/** A JSON object. */
export type Struct = Readonly<Record<string, Json>>

interface Value {
  readonly null?: number
  readonly number?: number
  readonly string?: string
  readonly bool?: boolean
  readonly struct?: { readonly fields: Readonly<Record<string, Value>> }
  readonly list?: { readonly values: readonly Value[] }
}

const value: Kind<Value> = later(() => valueMessage)
const structMessage = message({ fields: mapOf(1, value) })
const listMessage = message({ values: repeated(1, value) })
const valueMessage: Kind<Value> = message({
  null: field(1, int32),
  number: field(2, double),
  string: field(3, text),
  bool: field(4, bool),
  struct: field(5, structMessage),
  list: field(6, listMessage),
})

/** A Struct as the object that it stands for. */
export const struct: Kind<Struct> = {
  wire: structMessage.wire,
  write: (w, object) => structMessage.write(w, fieldsOf(object, 0)),
  read: (r, depth) => objectOf(structMessage.read(r, depth)),
}

export const timestamp = message({ seconds: field(1, int64), nanos: field(2, int32) })
export const duration = message({ seconds: field(1, int64), nanos: field(2, int32) })

/** Of ms since the epoch. */
export function timestampOf(ms: number): { readonly seconds: number; readonly nanos: number } {
  const seconds = Math.floor(ms / 1000)
  return { seconds, nanos: Math.round((ms - seconds * 1000) * 1_000_000) }
}

function objectOf({ fields }: { readonly fields: Readonly<Record<string, Value>> }): Struct {
  return Object.fromEntries(Object.entries(fields).map(([name, each]) => [name, jsonOf(each)]))
}

function jsonOf({ number, string, bool: truth, struct: object, list }: Value): Json {
  if (object !== undefined) return objectOf(object)
  if (list !== undefined) return list.values.map(jsonOf)
  return string ?? number ?? truth ?? null
}

/** As deep as a message may be: what is deeper becomes null. */
const MAX_DEPTH = 20

function fieldsOf(object: Readonly<Record<string, unknown>>, depth: number) {
  return { fields: Object.fromEntries(Object.entries(object).map(([name, each]) => [name, asValue(each, depth)])) }
}

/** What expressions give: integers beyond 2^53 and times become text, bytes base64. */
function asValue(json: unknown, depth: number): Value {
  if (typeof json === 'string') return { string: json }
  if (typeof json === 'number') return { number: json }
  if (typeof json === 'boolean') return { bool: json }
  if (typeof json === 'bigint') return { string: json.toString() }
  if (json instanceof Date) return { string: json.toISOString() }
  if (json instanceof Uint8Array) return { string: Buffer.from(json).toString('base64') }
  if (typeof json !== 'object' || json === null || depth >= MAX_DEPTH) return { null: 0 }
  if (Array.isArray(json)) return { list: { values: json.map(each => asValue(each, depth + 1)) } }
  return { struct: fieldsOf(json as Readonly<Record<string, unknown>>, depth + 1) }
}
