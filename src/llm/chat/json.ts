import { Untranslatable } from './losses.ts'

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** A token count: a non-negative integer. */
export function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Values that say nothing: losing them is no loss. */
export function isVoid(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

export function requireList(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new Untranslatable(path, value === undefined ? 'is required' : 'must be a list')
}

export function requireObject(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value
  throw new Untranslatable(path, value === undefined ? 'is required' : 'must be an object')
}

export function requireText(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  throw new Untranslatable(path, value === undefined ? 'is required' : 'must be a string')
}

/** Omits undefined members. */
export function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const out: JsonObject = {}
  for (const key in value) if (value[key] !== undefined) out[key] = value[key]
  return out as { [K in keyof T]: Exclude<T[K], undefined> }
}

/** For comparisons and messages. Unlike `String`, it never calls what an object names `toString`. */
export function labelOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? 'object' : String(value)
}
