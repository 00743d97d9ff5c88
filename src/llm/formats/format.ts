import type { Chat } from '../chat/chat.ts'
import type { ErrorCodec } from '../chat/codec.ts'
import type { JsonObject } from '../chat/json.ts'
import type { JsonBody } from '../json-body.ts'
import type { Prompts } from '../prompts.ts'
import type { CacheConvention, Usage } from '../usage.ts'

/**
 * The API formats that clients and providers may speak: the path below a provider's base path, as in the format's
 * public API, and the path suffixes for clients of the `llm` section.
 */
const FORMATS = {
  completions: { path: '/chat/completions', asked: ['/v1/chat/completions'] },
  messages: { path: '/messages', asked: ['/v1/messages', ':rawPredict', ':streamRawPredict'] },
  responses: { path: '/responses', asked: ['/v1/responses'] },
  embeddings: { path: '/embeddings', asked: ['/v1/embeddings'] },
  anthropicTokenCount: { path: '/messages/count_tokens', asked: ['/v1/messages/count_tokens'] },
  generateContent: { path: '/generateContent', asked: [':generateContent', ':streamGenerateContent'] },
  converse: { path: '/converse', asked: ['/converse', '/converse-stream'] },
  geminiCountTokens: { path: '/countTokens', asked: [':countTokens'] },
  realtime: { path: '/realtime', asked: ['/v1/realtime'] },
  rerank: { path: '/rerank', asked: ['/v1/rerank', '/v2/rerank'] },
} as const

export type FormatName = keyof typeof FORMATS
export const FORMAT_NAMES = Object.keys(FORMATS) as FormatName[]

/** What servers of one's own may speak: Bedrock's own format has no servers but Bedrock's. */
export type ServedFormat = Exclude<FormatName, 'converse'>
export const SERVED_FORMATS = FORMAT_NAMES.filter((name): name is ServedFormat => name !== 'converse')

export function pathOf(format: FormatName): string {
  return FORMATS[format].path
}

/** The formats by the path suffixes that clients use. */
export function askedPaths(): Readonly<Record<string, FormatName>> {
  return Object.fromEntries(FORMAT_NAMES.flatMap(name => FORMATS[name].asked.map(end => [end, name])))
}

/** Extracts what is recorded about a response. */
export interface ReplyReader {
  readonly cache: CacheConvention
  /** The member with usage, if it is not `usage`. */
  readonly usageKey?: string
  /** From a whole response or one stream event. */
  usage(reply: unknown): Usage | undefined
  /** Streams are frames of Amazon's event stream in place of server-sent events. */
  readonly framed?: true
  model(reply: unknown): string | undefined
}

/** What the gateway knows about one API format; one file each. */
export interface Format extends ReplyReader {
  readonly name: FormatName
  /** The error format of its clients. */
  readonly errors: ErrorCodec
  /** For formats whose path names the model and requests a stream. Undefined if the path is not of the format. */
  address?(path: string): { readonly model: string; readonly stream: boolean } | undefined
  /** Changes a streaming request so that its response will carry usage. False if nothing was changed. */
  askForUsage?(body: JsonBody): boolean
  /** Whether an event exists only because usage was requested. */
  isUsageEvent?(event: unknown): boolean
  /** For a token counting format: the conversation to count, and the response. */
  readonly counted?: { conversation(body: JsonObject): Chat; reply(tokens: number): JsonObject }
  /** Absent if the format has no messages. */
  addPrompts?(body: JsonBody, prompts: Prompts): void
}
