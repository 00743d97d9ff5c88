import type { ChatFormat } from '../chat/chat.ts'
import type { FormatName } from './format.ts'

/** What a provider speaks: what clients do, and Bedrock's own format. */
export type WireFormat = FormatName | 'converse'

/** What each client's conversations are sent as, best first: Gemini's own format carries what its compatible endpoint loses. */
const PREFERRED: Readonly<Partial<Record<FormatName, readonly ChatFormat[]>>> = {
  completions: ['generateContent', 'completions', 'messages', 'converse', 'responses'],
  messages: ['messages', 'generateContent', 'completions', 'responses', 'converse'],
  responses: ['responses', 'generateContent', 'completions', 'converse', 'messages'],
  generateContent: ['generateContent', 'completions', 'messages', 'converse', 'responses'],
}

/** The format in which a provider that speaks `spoken` is asked; undefined: none of them can say it. */
export function targetFormat(client: FormatName, spoken: (format: WireFormat) => boolean): WireFormat | undefined {
  const preferred = PREFERRED[client]
  return preferred === undefined ? (spoken(client) ? client : undefined) : preferred.find(spoken)
}

export function isChatFormat(format: WireFormat): format is ChatFormat {
  return format === 'converse' || PREFERRED[format] !== undefined
}
