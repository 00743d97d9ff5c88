import type { ChatCodec } from '../../chat/codec.ts'
import { wordsOf } from '../../chat/identifiers.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'
import { ConverseReader, ConverseWriter, converseErrors } from './events.ts'
import { REPLY, REQUEST } from './members.ts'
import { decodeReply, encodeReply } from './reply.ts'

export const converseCodec: ChatCodec = {
  title: 'Bedrock Converse',
  holds: { redacted: true },
  identifiers: { tools: wordsOf(64), calls: { refused: /[^A-Za-z0-9_.:-]/g, longest: 64 } },
  request: { members: REQUEST, decode: decodeRequest, encode: encodeRequest },
  reply: { members: REPLY, decode: decodeReply, encode: encodeReply },
  events: { reader: () => new ConverseReader(), writer: () => new ConverseWriter() },
  errors: converseErrors,
}
