import type { ChatCodec } from '../../chat/codec.ts'
import { wordsOf } from '../../chat/identifiers.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'
import { anthropicErrors } from './errors.ts'
import { MessagesReader, MessagesWriter } from './events.ts'
import { REPLY, REQUEST } from './members.ts'
import { decodeReply, encodeReply } from './reply.ts'

export const messagesCodec: ChatCodec = {
  title: 'Anthropic Messages',
  holds: { redacted: true, pause: true },
  identifiers: { tools: wordsOf(128), calls: wordsOf(128) },
  request: { members: REQUEST, decode: decodeRequest, encode: encodeRequest },
  reply: { members: REPLY, decode: decodeReply, encode: encodeReply },
  events: { reader: () => new MessagesReader(), writer: facts => new MessagesWriter(facts) },
  errors: anthropicErrors,
}
