import type { ChatFormat } from '../chat/chat.ts'
import type { FormatName } from './format.ts'

/** Formats of providers: those of clients, and Bedrock's own. */
export type WireFormat = FormatName

/**
 * The target formats for each client format, best first: Gemini's own format carries what its compatible endpoint
 * loses.
 */
const PREFERRED: Readonly<Partial<Record<FormatName, readonly ChatFormat[]>>> = {
  completions: ['generateContent', 'completions', 'messages', 'converse', 'responses'],
  messages: ['messages', 'generateContent', 'completions', 'responses', 'converse'],
  responses: ['responses', 'generateContent', 'completions', 'converse', 'messages'],
  converse: ['converse', 'messages', 'generateContent', 'completions', 'responses'],
  generateContent: ['generateContent', 'completions', 'messages', 'converse', 'responses'],
}

/** The best target format that a provider supports, according to `spoken`. Undefined if there is none. */
export function targetFormat(client: FormatName, spoken: (format: WireFormat) => boolean): WireFormat | undefined {
  const preferred = PREFERRED[client]
  return preferred === undefined ? (spoken(client) ? client : undefined) : preferred.find(spoken)
}

export function isChatFormat(format: WireFormat): format is ChatFormat {
  return PREFERRED[format] !== undefined
}
