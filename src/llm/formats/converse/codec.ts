import type { ChatCodec } from '../../chat/codec.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'
import { decodeError, encodeError } from './errors.ts'
import { ConverseReader, ConverseWriter } from './events.ts'
import { decodeReply, encodeReply } from './reply.ts'

export const converseCodec: ChatCodec = {
  request: { decode: decodeRequest, encode: encodeRequest },
  reply: { decode: decodeReply, encode: encodeReply },
  events: { reader: () => new ConverseReader(), writer: () => new ConverseWriter() },
  errors: {
    decode: decodeError,
    encode: encodeError,
    event: error => new ConverseWriter().write({ type: 'error', error }),
  },
}
