import type { Expression } from '../../cel/expression.ts'
import type { Limits } from '../policy.ts'

/** The hooks that expressions need because they name a body. */
export function bodiesFor(
  expressions: Iterable<Expression | undefined>,
  { maxBuffer }: Limits,
): {
  readonly buffersRequest?: number
  readonly buffersResponse?: { readonly limit: number; readonly failOpen: true }
} {
  let request = false
  let response = false
  for (const expression of expressions) {
    request ||= expression?.readsRequestBody === true
    response ||= expression?.readsResponseBody === true
  }
  return {
    ...(request ? { buffersRequest: maxBuffer } : {}),
    ...(response ? { buffersResponse: { limit: maxBuffer, failOpen: true } } : {}),
  }
}

/** The result of an expression as a body: text and bytes as they are, anything else as JSON. */
export function toBody(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) return value
  if (typeof value === 'string') return Buffer.from(value)
  return Buffer.from(toJson(value))
}

function toJson(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'bigint') return value.toString()
  if (Buffer.isBuffer(value)) return JSON.stringify(value.toString('base64'))
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`
  if (typeof value === 'object' && !(value instanceof Date)) {
    return `{${Object.entries(value)
      .map(([key, each]) => `${JSON.stringify(key)}:${toJson(each)}`)
      .join(',')}}`
  }
  return JSON.stringify(value)
}
