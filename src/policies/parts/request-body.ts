import type { Expression } from '../../cel/expression.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Hooks, Limits } from '../policy.ts'

/** The hooks needed by expressions that refer to a body. */
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

/**
 * `hooks` with the body buffered right before `request` runs, so that earlier policies can still reject the request.
 */
export function afterBody(hooks: Hooks): Hooks {
  const { buffersRequest, request } = hooks
  if (buffersRequest === undefined) return hooks
  return {
    ...hooks,
    request(x) {
      if (x.body.bytes !== undefined || x.upgrade !== undefined) return request?.(x)
      return readBody(x, buffersRequest).then(() => request?.(x))
    },
  }
}

/** An oversized body is still forwarded: expressions then see no body. */
export async function readBody(x: Exchange, limit: number): Promise<void> {
  if (x.upgrade !== undefined) return
  try {
    const bytes = await x.body.buffer(limit)
    if (bytes.length > 0) x.trace?.body('initial request', bytes)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'bodyTooLarge') throw error
  }
}

/** Converts an expression's result to a body. */
export function toBody(value: unknown): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value as string)
}
