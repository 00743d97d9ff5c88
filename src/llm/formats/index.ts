import type { RouteType } from '../route-type.ts'
import { completions } from './completions.ts'
import { embeddings, rerank } from './embeddings.ts'
import type { Format, FormatName } from './format.ts'
import { anthropicTokenCount, messages } from './messages.ts'
import { responses } from './responses.ts'

/** The formats that this engine reads. A format that is missing here is declared but not served. */
const FORMATS: Readonly<Partial<Record<FormatName, Format>>> = {
  completions,
  messages,
  responses,
  embeddings,
  anthropicTokenCount,
  rerank,
}

/** The format that clients speak on a route, for the routes whose bodies are read. */
export function formatOf(route: RouteType): Format | undefined {
  return FORMATS[route as FormatName]
}
