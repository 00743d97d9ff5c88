import { hasRepeatedMembers } from '../http/repeated-members.ts'
import { CelFailure } from './failure.ts'

/** Maximum nesting depth of any walk over client data. */
export const MAX_DEPTH = 128

/** A value that prints as `<redacted>`; only `.unredacted()` reveals it. */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  reveal(): string {
    return this.#text
  }

  toString(): string {
    return REDACTED
  }
}
/** The value of a failed expression: reading it fails too. */
export class FailedValue {}

export const REDACTED = '<redacted>'

/**
 * A map of client data, or one made by a function. The library interns one type for every shape of plain object or
 * array it meets and never frees them, so client data must not reach it in that form: it sees two opaque types,
 * whatever their content. Values are converted lazily.
 *
 * It is a Map because the library reads fields of registered Map classes only through `get`.
 */
export class JsonMap extends Map<string, unknown> {
  readonly #fields: Readonly<Record<string, unknown>>
  readonly #depth: number
  readonly #ours: Readonly<Record<string, unknown>> | undefined

  /** `ours`: the gateway's own values, which are not converted and take precedence over fields of the same name. */
  constructor(fields: Readonly<Record<string, unknown>>, depth = 0, ours?: Readonly<Record<string, unknown>>) {
    super()
    this.#fields = fields
    this.#depth = depth
    this.#ours = ours
  }

  override get(key: unknown): unknown {
    if (typeof key !== 'string') return undefined
    if (this.#ours && Object.hasOwn(this.#ours, key)) return this.#ours[key]
    return Object.hasOwn(this.#fields, key) ? wrap(this.#fields[key], this.#depth + 1) : undefined
  }

  override has(key: unknown): boolean {
    return this.get(key) !== undefined
  }

  override get size(): number {
    return this.#names().length
  }

  override keys(): MapIterator<string> {
    return this.#names()[Symbol.iterator]() as MapIterator<string>
  }

  override *entries(): MapIterator<[string, unknown]> {
    for (const key of this.#names()) yield [key, this.get(key)]
  }

  override [Symbol.iterator](): MapIterator<[string, unknown]> {
    return this.entries()
  }

  #names(): string[] {
    const names = Object.keys(this.#fields)
    return this.#ours ? [...new Set([...names, ...Object.keys(this.#ours)])] : names
  }
}

/** A list of client data; see JsonMap. Its keys are indexes. */
export class JsonList extends Map<unknown, unknown> {
  /** Several values of one header field, where an expression expects one. */
  readonly several: boolean
  readonly #items: readonly unknown[]
  readonly #depth: number

  constructor(items: readonly unknown[], depth = 0, several = false) {
    super()
    this.several = several
    this.#items = items
    this.#depth = depth
  }

  override get(index: unknown): unknown {
    const at = typeof index === 'bigint' ? Number(index) : index
    if (typeof at !== 'number' || !Number.isInteger(at) || at < 0 || at >= this.#items.length) return undefined
    return wrap(this.#items[at] ?? null, this.#depth + 1)
  }

  override get size(): number {
    return this.#items.length
  }

  toArray(): unknown[] {
    return this.#items.map(item => wrap(item ?? null, this.#depth + 1))
  }
}

/** `bigint` for integers, views for objects and lists, anything else unchanged. */
export function wrap(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case 'number':
      return Number.isSafeInteger(value) ? BigInt(value) : value
    case 'object':
      break
    case 'function':
    case 'symbol':
      return undefined
    default:
      return value
  }
  if (value === null) return null
  if (depth > MAX_DEPTH) throw new CelFailure('too_deep')
  if (Array.isArray(value)) return new JsonList(value, depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) {
    return new JsonMap(value as Record<string, unknown>, depth)
  }
  if (value instanceof FailedValue) throw new CelFailure('failed_value')
  return value
}

/** Parses JSON text. Integers beyond 2^53 lose precision and become doubles. */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new CelFailure('invalid_json')
  }
  // A backend may use the other duplicate.
  if (hasRepeatedMembers(text, value)) throw new CelFailure('repeated_member')
  return wrap(value)
}
