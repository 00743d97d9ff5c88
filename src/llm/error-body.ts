import type { ErrorCodec } from './chat/codec.ts'
import { errorOf } from './chat/errors.ts'

/** An error body that the client's SDK can parse, with its content type. */
export function errorBody(
  errors: ErrorCodec,
  status: number,
  message: string,
  code?: string,
): { readonly type: string; readonly text: string } {
  const error = errorOf(status, { message, ...(code === undefined ? {} : { code }) })
  return { type: 'application/json', text: JSON.stringify(errors.encode(error)) }
}

/** Whether an upstream's error body is already in the client's format. */
export function speaks(errors: ErrorCodec, value: unknown): boolean {
  return errors.decode(value)?.message !== undefined
}
