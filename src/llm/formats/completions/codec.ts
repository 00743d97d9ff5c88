import type { ChatCodec } from '../../chat/codec.ts'
import { wordsOf } from '../../chat/identifiers.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'
import { openAiErrors } from './errors.ts'
import { CompletionsReader, CompletionsWriter } from './events.ts'
import { decodeReply, encodeReply } from './reply.ts'

export const completionsCodec: ChatCodec = {
  customTools: true,
  identifiers: { tools: wordsOf(64), calls: { refused: /\s/g, longest: 64 } },
  request: { decode: decodeRequest, encode: encodeRequest },
  reply: { decode: decodeReply, encode: encodeReply },
  events: { reader: () => new CompletionsReader(), writer: facts => new CompletionsWriter(facts) },
  errors: openAiErrors,
}
