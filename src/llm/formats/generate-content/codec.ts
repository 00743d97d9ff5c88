import type { ChatCodec } from '../../chat/codec.ts'
import type { JsonObject } from '../../chat/json.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'
import { googleErrors } from './errors.ts'
import { GenerateContentReader, GenerateContentWriter } from './events.ts'
import { camelNames, REPLY, REQUEST } from './members.ts'
import { decodeReply, encodeReply } from './reply.ts'

export const generateContentCodec: ChatCodec = {
  title: 'Gemini',
  holds: { choices: true, logprobs: true },
  identifiers: { tools: { refused: /[^A-Za-z0-9_.:-]/g, longest: 64 }, calls: { refused: /\s/g, longest: 128 } },
  signsCalls: true,
  request: {
    normal: body => camelNames(body) as JsonObject,
    members: REQUEST,
    decode: decodeRequest,
    encode: encodeRequest,
  },
  reply: { members: REPLY, decode: decodeReply, encode: encodeReply },
  events: { reader: () => new GenerateContentReader(), writer: facts => new GenerateContentWriter(facts) },
  errors: googleErrors,
}
