import type { Expression } from '../cel/expression.ts'
import type { Exchange } from '../http/exchange.ts'
import type { JsonBody } from './json-body.ts'

/** Edits a request body as configured; `x.llm.request` holds the body as received. */
export type BodyEdit = (body: JsonBody, x: Exchange) => void

export interface BodyEditSpec {
  readonly defaults?: Readonly<Record<string, unknown>> | undefined
  readonly overrides?: Readonly<Record<string, unknown>> | undefined
  readonly transformations?: Readonly<Record<string, Expression>> | undefined
}

/**
 * Sets top-level fields of a request. Precedence: transformation, override, client, default. All expressions see the
 * body as received; if one fails, its field is removed. Undefined if there is nothing to set.
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

/** Edits the body that the provider will get; `x.llm.request` holds that body. */
export type FinalEdit = (body: { set(field: string, value: unknown): void }, x: Exchange) => void

/** One expression per field; if it fails, its field is removed. Undefined if there is nothing to set. */
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

/** Converts values without a JSON form to the nearest one: large integers to numbers, bytes to base64. */
function toJson(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Buffer.isBuffer(value)) return value.toString('base64')
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value === 'object' && value !== null && !(value instanceof Date)) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toJson(each)]))
  }
  return value
}
