import type { ChatFormat } from '../chat/chat.ts'
import type { ChatCodec } from '../chat/codec.ts'
import { completionsCodec } from './completions/codec.ts'
import { converseCodec } from './converse/codec.ts'
import { generateContentCodec } from './generate-content/codec.ts'
import { messagesCodec } from './messages/codec.ts'
import { responsesCodec } from './responses/codec.ts'

/** The codecs of all conversation formats. */
export const CODECS: Readonly<Record<ChatFormat, ChatCodec>> = {
  completions: completionsCodec,
  messages: messagesCodec,
  responses: responsesCodec,
  generateContent: generateContentCodec,
  converse: converseCodec,
}
