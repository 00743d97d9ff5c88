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

/** The result of an expression for a body. */
export function toBody(value: unknown): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value as string)
}
