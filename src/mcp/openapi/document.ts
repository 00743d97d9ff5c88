import { parseSource } from '../../diagnostics/source.ts'
import { isObject, type JsonObject } from '../message.ts'

/** Parses an OpenAPI 3 document, JSON or YAML; otherwise returns the problem. */
export function readDocument(text: string): JsonObject | { readonly problem: string } {
  const value = parsed(text)
  if (!isObject(value)) return { problem: 'neither JSON nor YAML of an object' }
  if (value.swagger !== undefined) return { problem: 'Swagger 2.0; convert it to OpenAPI 3' }
  if (typeof value.openapi !== 'string' || !value.openapi.startsWith('3.')) {
    return { problem: 'not an OpenAPI 3 document: `openapi` is not a 3.x version' }
  }
  return isObject(value.paths) || isObject(value.components)
    ? value
    : { problem: 'no OpenAPI document: it has no `paths`' }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return parseSource('openapi.yaml', text).documents[0]?.value
  }
}

/** The target of `$ref` within the document. Undefined if it is missing or external. */
export function pointedAt(document: JsonObject, ref: string): unknown {
  if (!ref.startsWith('#/')) return undefined
  let at: unknown = document
  for (const step of ref.slice(2).split('/')) {
    const key = unescaped(step)
    if (key === undefined || typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    at = (at as Readonly<Record<string, unknown>>)[key]
  }
  return at
}

/** Maximum length of a chain of references. */
const MAX_STEPS = 16

/** `value`, or the target of its `$ref`. */
export function resolved(document: JsonObject, value: unknown): JsonObject | undefined {
  let at = value
  for (let i = 0; i < MAX_STEPS; i++) {
    if (!isObject(at)) return undefined
    if (typeof at.$ref !== 'string') return at
    at = pointedAt(document, at.$ref)
  }
  return undefined
}

function unescaped(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return undefined
  }
}
