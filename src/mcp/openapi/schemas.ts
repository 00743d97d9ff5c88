import { isObject, type JsonObject } from '../message.ts'
import { pointedAt } from './document.ts'

/** Keywords whose members are schemas by name. */
const MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas'])
/** Keywords whose values contain no schemas. */
const DATA = new Set(['default', 'enum', 'const', 'examples', 'required', 'dependentRequired'])
/** Specific to OpenAPI, or meaningless outside the document. */
const DROPPED = new Set([
  ...['discriminator', 'example', 'externalDocs', 'xml'],
  ...['$anchor', '$comment', '$defs', '$dynamicAnchor', '$dynamicRef', '$id', '$schema', 'definitions'],
])

/** References are inlined up to this number; further ones go to `$defs`. */
const MAX_INLINE = 12
/** The size that a tool inlines before further references go to `$defs`. */
const MAX_WRITTEN = 2000
/** Schemas nested deeper than this accept anything. */
const MAX_DEPTH = 60

/** Bounds the total size of the tools of a document: objects, lists and values. */
export class SchemaBudget {
  left: number
  /** Unresolvable references. */
  readonly lost = new Set<string>()

  constructor(left: number) {
    this.left = left
  }
}

/**
 * Converts a document's schemas to those of one tool: JSON Schema 2020-12 without external references. Schemas that are
 * recursive or would grow too large go to `$defs`.
 */
export class ToolSchemas {
  readonly #document: JsonObject
  readonly #budget: SchemaBudget
  readonly #names = new Map<string, string>()
  readonly #waiting: string[] = []
  #written = 0

  constructor(document: JsonObject, budget: SchemaBudget) {
    this.#document = document
    this.#budget = budget
  }

  schema(value: unknown): JsonObject {
    return this.#schema(value, [], 0)
  }

  /** The definitions referenced so far. */
  definitions(): JsonObject | undefined {
    const out: Record<string, JsonObject> = {}
    for (let ref = this.#waiting.pop(); ref !== undefined; ref = this.#waiting.pop()) {
      out[this.#names.get(ref) as string] = this.#schema(pointedAt(this.#document, ref), [ref], 1)
    }
    return this.#names.size === 0 ? undefined : out
  }

  #schema(value: unknown, within: readonly string[], depth: number): JsonObject {
    if (!isObject(value) || depth > MAX_DEPTH || !this.#spend()) return {}
    const { $ref } = value
    if (typeof $ref === 'string') return this.#reference($ref, value, within, depth)
    const out: Record<string, unknown> = {}
    for (const [key, member] of Object.entries(value)) {
      if (DROPPED.has(key) || key.startsWith('x-')) continue
      if (DATA.has(key)) out[key] = this.#data(member, depth)
      else if (MAPS.has(key) && isObject(member)) out[key] = this.#map(member, within, depth)
      else if (Array.isArray(member)) {
        out[key] = member.map(each => (isObject(each) ? this.#schema(each, within, depth + 1) : each))
      } else out[key] = isObject(member) ? this.#schema(member, within, depth + 1) : member
    }
    return modern(out)
  }

  #map(schemas: JsonObject, within: readonly string[], depth: number): JsonObject {
    return Object.fromEntries(
      Object.entries(schemas).map(([name, each]) => [name, this.#schema(each, within, depth + 1)]),
    )
  }

  #reference(ref: string, { description }: JsonObject, within: readonly string[], depth: number): JsonObject {
    const said = typeof description === 'string' ? { description } : {}
    const target = pointedAt(this.#document, ref)
    if (target === undefined) {
      this.#budget.lost.add(ref)
      return said
    }
    if (within.includes(ref) || within.length >= MAX_INLINE || this.#written > MAX_WRITTEN) {
      return { $ref: `#/$defs/${this.#nameOf(ref)}`, ...said }
    }
    return { ...this.#schema(target, [...within, ref], depth + 1), ...said }
  }

  #nameOf(ref: string): string {
    const known = this.#names.get(ref)
    if (known !== undefined) return known
    const last = ref.slice(ref.lastIndexOf('/') + 1).replace(/[^\w.-]/g, '_')
    const taken = new Set(this.#names.values())
    let name = last
    for (let i = 2; taken.has(name); i++) name = `${last}_${i}`
    this.#names.set(ref, name)
    this.#waiting.push(ref)
    return name
  }

  /** Copies a value that is not a schema. */
  #data(value: unknown, depth: number): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (depth > MAX_DEPTH) return null
    const entries = Object.entries(value)
    this.#budget.left -= entries.length
    this.#written += entries.length
    if (this.#budget.left < 0) return Array.isArray(value) ? [] : {}
    const copied = entries.map(([key, each]) => [key, this.#data(each, depth + 1)] as const)
    return Array.isArray(value) ? copied.map(([, each]) => each) : Object.fromEntries(copied)
  }

  #spend(): boolean {
    this.#written++
    return --this.#budget.left >= 0
  }
}

/** Converts OpenAPI 3.0 notation: `nullable`, and boolean limits. */
function modern({ nullable, ...schema }: Record<string, unknown>): JsonObject {
  limit(schema, 'exclusiveMinimum', 'minimum')
  limit(schema, 'exclusiveMaximum', 'maximum')
  if (nullable !== true) return schema
  const { type } = schema
  if (Array.isArray(schema.enum) && !schema.enum.includes(null)) schema.enum = [...schema.enum, null]
  if (typeof type === 'string') return { ...schema, type: [type, 'null'] }
  return type === undefined && Object.keys(schema).length > 0 ? { anyOf: [schema, { type: 'null' }] } : schema
}

function limit(schema: Record<string, unknown>, exclusive: string, plain: string): void {
  const flag = schema[exclusive]
  if (typeof flag !== 'boolean') return
  delete schema[exclusive]
  if (!flag || typeof schema[plain] !== 'number') return
  schema[exclusive] = schema[plain]
  delete schema[plain]
}
