import { Optional } from '@marcbachmann/cel-js'
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { CelFailure } from './failure.ts'
import { HeaderView } from './header-view.ts'
import { Cidr, IpAddress } from './ip-address.ts'
import { JsonList, MAX_DEPTH, REDACTED, Secret } from './json-view.ts'
import type { Run } from './run.ts'
import { compareTimes, type Instant } from './time.ts'
import { View } from './view.ts'

export type CelList = readonly unknown[] | ReadonlySet<unknown> | JsonList
export type CelMap = ReadonlyMap<unknown, unknown>

export function isList(value: unknown): value is CelList {
  return Array.isArray(value) || value instanceof JsonList || value instanceof Set
}

/** Every map that expressions can contain: literals are Maps, client data and headers are Map subclasses. */
export function isMap(value: unknown): value is CelMap {
  return value instanceof Map && !(value instanceof JsonList)
}

export function itemsOf(list: CelList): readonly unknown[] {
  if (list instanceof JsonList) return list.toArray()
  return Array.isArray(list) ? list : [...list]
}

export function sizeOf(value: CelList | CelMap): number {
  return Array.isArray(value) ? value.length : (value as { readonly size: number }).size
}

export function isNumber(value: unknown): value is number | bigint | UnsignedInt {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof UnsignedInt
}

/** Orders numbers of any kind by mathematical value; NaN if one of them is NaN. */
export function compareNumbers(a: number | bigint | UnsignedInt, b: number | bigint | UnsignedInt): number {
  const x = a instanceof UnsignedInt ? a.value : a
  const y = b instanceof UnsignedInt ? b.value : b
  if (x < y) return -1
  if (x > y) return 1
  // biome-ignore lint/suspicious/noDoubleEquals: bigint and number compare by value only with the loose operator
  return x == y ? 0 : Number.NaN
}

/** CEL equality: by value, numbers across their kinds, false for different types. */
export function equal(a: unknown, b: unknown, run: Run, depth = 0): boolean {
  if (a === b) return true
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0
  refuseUnlike(a, b)
  refuseUnlike(b, a)
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (depth > MAX_DEPTH) throw new CelFailure('too_deep')
  if (isList(a)) return isList(b) && equalLists(a, b, run, depth)
  if (isMap(a)) return isMap(b) && equalMaps(a, b, run, depth)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (a instanceof Date || a instanceof Duration) return compareTimes(a, b) === 0
  if (a instanceof IpAddress) return b instanceof IpAddress && `${a.unmapped()}` === `${b.unmapped()}`
  if (a instanceof Cidr) return b instanceof Cidr && `${a}` === `${b}`
  if (a instanceof Optional && b instanceof Optional) {
    return a.hasValue() && b.hasValue() ? equal(a.value(), b.value(), run, depth + 1) : a.hasValue() === b.hasValue()
  }
  return false
}

/**
 * Comparing these must fail rather than be false: a rule about a header or an optional would silently never match.
 * Clients control how often they send a header.
 */
function refuseUnlike(a: unknown, b: unknown): void {
  if (a instanceof Optional && !(b instanceof Optional)) throw new CelFailure('invalid_comparison_type')
  if (a instanceof JsonList && a.several && typeof b === 'string') throw new CelFailure('several_values')
}

function equalLists(a: CelList, b: CelList, run: Run, depth: number): boolean {
  const size = sizeOf(a)
  if (size !== sizeOf(b)) return false
  run.charge(size >> 3)
  const other = itemsOf(b)
  return itemsOf(a).every((item, i) => equal(item, other[i], run, depth + 1))
}

function equalMaps(a: CelMap, b: CelMap, run: Run, depth: number): boolean {
  if (a.size !== b.size) return false
  run.charge(a.size >> 3)
  for (const [key, value] of a.entries()) {
    const other = fieldOf(b, key)
    if (other === undefined || !equal(value, other, run, depth + 1)) return false
  }
  return true
}

/** `map[key]`, with numeric keys across their kinds; undefined if absent. */
export function fieldOf(map: CelMap, key: unknown): unknown {
  const direct = map.get(key)
  if (direct !== undefined || !isNumber(key)) return direct
  for (const [other, value] of map.entries()) if (isNumber(other) && compareNumbers(other, key) === 0) return value
  return undefined
}

export function contains(container: unknown, value: unknown, run: Run): boolean {
  if (isMap(container)) {
    if (value instanceof JsonList && value.several) throw new CelFailure('several_values')
    return fieldOf(container, value) !== undefined
  }
  if (!isList(container)) throw new CelFailure('no_such_overload')
  run.charge(sizeOf(container) >> 3)
  if (itemsOf(container).some(item => equal(item, value, run))) return true
  // With a single value this would have been a substring test.
  if (container instanceof JsonList && container.several) throw new CelFailure('several_values')
  return false
}

/** The name that `type()` returns. */
export function typeNameOf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'double'
  }
  if (value === null) return 'null_type'
  if (value instanceof UnsignedInt) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (isList(value)) return 'list'
  if (isMap(value) || value instanceof View) return 'map'
  if (value instanceof Date) return 'timestamp'
  if (value instanceof Duration) return 'duration'
  if (value instanceof Secret) return 'string'
  if (value instanceof Optional) return 'optional'
  return value instanceof IpAddress ? 'ip' : value instanceof Cidr ? 'cidr' : 'type'
}

/** Plain data for callers: see Outcome. */
export function toPlain(value: unknown, depth = 0): unknown {
  if (typeof value === 'bigint') return plainInteger(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) throw new CelFailure('too_deep')
  if (value instanceof UnsignedInt) return plainInteger(value.value)
  if (isList(value)) return itemsOf(value).map(item => toPlain(item, depth + 1))
  if (value instanceof HeaderView || isMap(value) || value instanceof View) return plainMap(value.entries(), depth)
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (value instanceof Date) return value
  if (value instanceof Secret) return REDACTED
  if (value instanceof Duration) return formatDuration(value)
  if (value instanceof IpAddress || value instanceof Cidr) return value.toString()
  if (value instanceof Optional) return value.hasValue() ? toPlain(value.value(), depth + 1) : null
  const name = (value as { readonly name?: unknown }).name
  if (typeof name !== 'string') return null
  return name === 'null' ? 'null_type' : name
}

function plainInteger(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

function plainMap(entries: Iterable<readonly [unknown, unknown]>, depth: number): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const [key, item] of entries) {
    if (item === undefined) continue
    const name = typeof key === 'string' ? key : String(key)
    const plain = toPlain(item, depth + 1)
    // Plain assignment to this name would replace the prototype.
    if (name === '__proto__') Object.defineProperty(out, name, { value: plain, enumerable: true, writable: true })
    else out[name] = plain
  }
  return out
}

/** Available in the pinned Node, but not yet in the declarations of the language version. */
const rawJson = JSON as typeof JSON & { rawJSON(text: string): unknown }

/**
 * JSON text: bytes as base64, timestamps as RFC 3339, durations as `1.5s`, integers exactly, doubles with a decimal
 * point.
 */
export function toJsonText(value: unknown, depth = 0): string {
  if (typeof value === 'number') return doubleText(value)
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return JSON.stringify(jsonReady(toPlain(value)))
  if (isList(value))
    return `[${itemsOf(value)
      .map(item => toJsonText(item, depth + 1))
      .join(',')}]`
  if (value instanceof HeaderView || isMap(value) || value instanceof View) {
    const fields: string[] = []
    for (const [key, item] of value.entries())
      if (item !== undefined) fields.push(`${JSON.stringify(String(key))}:${toJsonText(item, depth + 1)}`)
    return `{${fields.join(',')}}`
  }
  return JSON.stringify(jsonReady(toPlain(value, depth)))
}

function doubleText(value: number): string {
  if (!Number.isFinite(value)) return 'null'
  const text = Object.is(value, -0) ? '-0' : String(value)
  return /^-?\d{1,15}$/.test(text) ? `${text}.0` : text
}

function jsonReady(value: unknown): unknown {
  if (typeof value === 'bigint') return rawJson.rawJSON(value.toString())
  if (Buffer.isBuffer(value)) return value.toString('base64')
  if (Array.isArray(value)) return value.map(jsonReady)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return formatTimestamp(value)
  const out: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const [key, item] of Object.entries(value)) out[key] = jsonReady(item)
  return out
}

/** RFC 3339, omitting an empty fraction. */
export function formatTimestamp(value: Instant): string {
  if (value.nanos === undefined) return value.toISOString().replace('.000Z', 'Z')
  const fraction = String(value.getUTCMilliseconds() * 1_000_000 + value.nanos).padStart(9, '0')
  return value.toISOString().replace(/\.\d+Z$/, `.${fraction.replace(/0+$/, '')}Z`)
}

/** `90s`, `1.5s`, `-0.25s`. */
export function formatDuration(value: Duration): string {
  const total = value.seconds * 1_000_000_000n + BigInt(value.nanos)
  const size = total < 0n ? -total : total
  const fraction = (size % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '')
  return `${total < 0n ? '-' : ''}${size / 1_000_000_000n}${fraction && `.${fraction}`}s`
}
