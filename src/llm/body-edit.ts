import type { Expression } from '../cel/expression.ts'
import type { Exchange } from '../http/exchange.ts'
import type { JsonBody } from './json-body.ts'

/** Changes a request body by configuration; sees it as received through `x.llm.request`. */
export type BodyEdit = (body: JsonBody, x: Exchange) => void

export interface BodyEditSpec {
  readonly defaults?: Readonly<Record<string, unknown>> | undefined
  readonly overrides?: Readonly<Record<string, unknown>> | undefined
  readonly transformations?: Readonly<Record<string, Expression>> | undefined
}

/**
 * Sets top-level fields of a request: a transformation beats an override, which beats the client, which beats a
 * default. All expressions see the body as it came; one that fails removes its field. Undefined: nothing to set.
 */
export function compileBodyEdit(spec: BodyEditSpec): BodyEdit | undefined {
  const overrides = Object.entries(spec.overrides ?? {})
  const defaults = Object.entries(spec.defaults ?? {})
  const transformations = Object.entries(spec.transformations ?? {})
  if (overrides.length + defaults.length + transformations.length === 0) return undefined
  return (body, x) => {
    for (const [field, value] of overrides) body.set(field, value)
    for (const [field, expression] of transformations) {
      const outcome = expression.evaluate(x)
      body.set(field, outcome.ok ? toJson(outcome.value) : undefined)
    }
    for (const [field, value] of defaults) if (!body.has(field)) body.set(field, value)
  }
}

/** Changes a request body as the provider will get it; sees that body through `x.llm.request`. */
export type FinalEdit = (body: { set(field: string, value: unknown): void }, x: Exchange) => void

/** One expression a field; one that fails removes its field. Undefined: nothing to set. */
export function compileFinalEdit(expressions: Readonly<Record<string, Expression>> = {}): FinalEdit | undefined {
  const fields = Object.entries(expressions)
  if (fields.length === 0) return undefined
  return (body, x) => {
    const outcomes = fields.map(([, expression]) => expression.evaluate(x))
    for (const [i, outcome] of outcomes.entries()) {
      body.set(fields[i]![0], outcome.ok ? toJson(outcome.value) : undefined)
    }
  }
}

/** What JSON has no form for leaves as its nearest one: a large integer as a number, bytes as base64. */
function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Buffer.isBuffer(value)) return value.toString('base64')
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value === 'object' && value !== null && !(value instanceof Date)) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toJson(each)]))
  }
  return value
}
