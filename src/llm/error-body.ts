import type { ErrorCodec } from './chat/codec.ts'
import { errorOf } from './chat/errors.ts'

/** An error as the client's SDK reads it, with its content type. */
export function errorBody(
  errors: ErrorCodec,
  status: number,
  message: string,
  code?: string,
): { readonly type: string; readonly text: string } {
  const error = errorOf(status, { message, ...(code === undefined ? {} : { code }) })
  return { type: 'application/json', text: JSON.stringify(errors.encode(error)) }
}

/** Whether an upstream's error body is already what clients of the format read. */
export function speaks(errors: ErrorCodec, value: unknown): boolean {
  return errors.decode(value)?.message !== undefined
}
