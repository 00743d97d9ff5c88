import type { ErrorCodec } from '../../chat/codec.ts'
import { decodeError, encodeError } from '../completions/errors.ts'

/** Replies have errors as all of OpenAI's; within a stream they are events of their own. */
export const responsesErrors: ErrorCodec = {
  decode: decodeError,
  encode: encodeError,
  event({ code = 'server_error', message, param = null }) {
    return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param })}\n\n`
  },
}
