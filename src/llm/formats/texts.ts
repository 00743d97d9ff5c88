import type { ChatFormat } from '../chat/chat.ts'
import type { FormatTexts } from '../guards/format-texts.ts'
import { completionsTexts } from './completions/texts.ts'
import { converseTexts } from './converse/texts.ts'
import { generateContentTexts } from './generate-content/texts.ts'
import { messagesTexts } from './messages/texts.ts'
import { responsesTexts } from './responses/texts.ts'

/** The formats that guards read, which are those of conversations. */
const TEXTS: Readonly<Record<ChatFormat, FormatTexts>> = {
  completions: completionsTexts,
  messages: messagesTexts,
  responses: responsesTexts,
  generateContent: generateContentTexts,
  converse: converseTexts,
}

/** Undefined if the format has no conversations. */
export function formatTexts(format: string): FormatTexts | undefined {
  return Object.hasOwn(TEXTS, format) ? TEXTS[format as ChatFormat] : undefined
}
