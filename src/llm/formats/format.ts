import type { Chat } from '../chat/chat.ts'
import type { ErrorCodec } from '../chat/codec.ts'
import type { JsonObject } from '../chat/json.ts'
import type { JsonBody } from '../json-body.ts'
import type { Prompts } from '../prompts.ts'
import type { CacheConvention, Usage } from '../usage.ts'

/**
 * The API formats that a client or a provider may speak: the path below a provider's base path, as the format's public
 * API has it, and the ends of the paths that clients of the `llm` section use.
 */
const FORMATS = {
  completions: { path: '/chat/completions', asked: ['/v1/chat/completions'] },
  messages: { path: '/messages', asked: ['/v1/messages', ':rawPredict', ':streamRawPredict'] },
  responses: { path: '/responses', asked: ['/v1/responses'] },
  embeddings: { path: '/embeddings', asked: ['/v1/embeddings'] },
  anthropicTokenCount: { path: '/messages/count_tokens', asked: ['/v1/messages/count_tokens'] },
  generateContent: { path: '/generateContent', asked: [':generateContent', ':streamGenerateContent'] },
  geminiCountTokens: { path: '/countTokens', asked: [':countTokens'] },
  realtime: { path: '/realtime', asked: ['/v1/realtime'] },
  rerank: { path: '/rerank', asked: ['/v1/rerank', '/v2/rerank'] },
} as const

export type FormatName = keyof typeof FORMATS
export const FORMAT_NAMES = Object.keys(FORMATS) as FormatName[]

export function pathOf(format: FormatName): string {
  return FORMATS[format].path
}

/** The ends of paths on which clients speak a format. */
export function askedPaths(): Readonly<Record<string, FormatName>> {
  return Object.fromEntries(FORMAT_NAMES.flatMap(name => FORMATS[name].asked.map(end => [end, name])))
}

/** Finds what is recorded about a reply. */
export interface ReplyReader {
  readonly cache: CacheConvention
  /** The member that holds usage, where it is not `usage`. */
  readonly usageKey?: string
  /** Of a whole reply or of one event of a stream. */
  usage(reply: unknown): Usage | undefined
  model(reply: unknown): string | undefined
}

/** What the gateway has to know about one API format; one file each. */
export interface Format extends ReplyReader {
  readonly name: FormatName
  /** How its clients read errors. */
  readonly errors: ErrorCodec
  /** Where the path, not the body, names the model and asks for a stream; undefined: the path is not of the format. */
  address?(path: string): { readonly model: string; readonly stream: boolean } | undefined
  /** Changes a streaming request so that its reply will carry usage; false: nothing was changed. */
  askForUsage?(body: JsonBody): boolean
  /** Whether an event is there only because usage was asked for. */
  isUsageEvent?(event: unknown): boolean
  /** Of a format that asks for the size of a request: what is counted, and how that is answered. */
  readonly counted?: { conversation(body: JsonObject): Chat; reply(tokens: number): JsonObject }
  /** Absent: the format has no messages. */
  addPrompts?(body: JsonBody, prompts: Prompts): void
}
