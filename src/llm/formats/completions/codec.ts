import type { ChatCodec } from '../../chat/codec.ts'
import { wordsOf } from '../../chat/identifiers.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'
import { openAiErrors } from './errors.ts'
import { CompletionsReader, CompletionsWriter } from './events.ts'
import { REPLY, REQUEST } from './members.ts'
import { decodeReply, encodeReply } from './reply.ts'

export const completionsCodec: ChatCodec = {
  title: 'Chat Completions',
  customTools: true,
  holds: { choices: true, logprobs: true, redacted: true },
  identifiers: { tools: wordsOf(64), calls: { refused: /\s/g, longest: 64 } },
  request: { members: REQUEST, decode: decodeRequest, encode: encodeRequest },
  reply: { members: REPLY, decode: decodeReply, encode: encodeReply },
  events: { reader: () => new CompletionsReader(), writer: facts => new CompletionsWriter(facts) },
  errors: openAiErrors,
}
