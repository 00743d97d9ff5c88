import type { ChatCodec } from '../../chat/codec.ts'
import { wordsOf } from '../../chat/identifiers.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'
import { responsesErrors } from './errors.ts'
import { ResponsesReader, ResponsesWriter } from './events.ts'
import { REPLY, REQUEST } from './members.ts'
import { decodeReply, encodeReply } from './reply.ts'

export const responsesCodec: ChatCodec = {
  title: 'OpenAI Responses',
  customTools: true,
  holds: { logprobs: true, redacted: true },
  identifiers: { tools: wordsOf(64), calls: { refused: /\s/g, longest: 64 } },
  ownIds: true,
  request: { members: REQUEST, decode: decodeRequest, encode: encodeRequest },
  reply: { members: REPLY, decode: decodeReply, encode: encodeReply },
  events: { reader: () => new ResponsesReader(), writer: facts => new ResponsesWriter(facts) },
  errors: responsesErrors,
}
