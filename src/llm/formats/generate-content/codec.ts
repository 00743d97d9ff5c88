import type { ChatCodec } from '../../chat/codec.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'
import { googleErrors } from './errors.ts'
import { GenerateContentReader, GenerateContentWriter } from './events.ts'
import { decodeReply, encodeReply } from './reply.ts'

export const generateContentCodec: ChatCodec = {
  identifiers: { tools: { refused: /[^A-Za-z0-9_.:-]/g, longest: 64 }, calls: { refused: /\s/g, longest: 128 } },
  signsCalls: true,
  request: { decode: decodeRequest, encode: encodeRequest },
  reply: { decode: decodeReply, encode: encodeReply },
  events: { reader: () => new GenerateContentReader(), writer: facts => new GenerateContentWriter(facts) },
  errors: googleErrors,
}
