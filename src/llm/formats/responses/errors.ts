import type { ErrorCodec } from '../../chat/codec.ts'
import { decodeError, encodeError } from '../completions/errors.ts'

/** Errors of responses follow OpenAI's common format; within a stream they are events. */
export const responsesErrors: ErrorCodec = {
  decode: decodeError,
  encode: encodeError,
  event({ code = 'server_error', message, param = null }) {
    return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param })}\n\n`
  },
}
