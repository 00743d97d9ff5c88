import type { RouteType } from '../route-type.ts'
import { completions } from './completions/format.ts'
import { converse } from './converse/format.ts'
import { embeddings } from './embeddings/format.ts'
import type { Format, FormatName } from './format.ts'
import { geminiCountTokens, generateContent } from './generate-content/format.ts'
import { anthropicTokenCount, messages } from './messages/format.ts'
import { rerank } from './rerank/format.ts'
import { responses } from './responses/format.ts'

/** The formats that this engine reads. A format that is missing here is declared but not served. */
const FORMATS: Readonly<Partial<Record<FormatName, Format>>> = {
  completions,
  messages,
  responses,
  embeddings,
  anthropicTokenCount,
  generateContent,
  converse,
  geminiCountTokens,
  rerank,
}

/** The client format of a route. Undefined for routes whose bodies are not read. */
export function formatOf(route: RouteType): Format | undefined {
  return FORMATS[route as FormatName]
}
