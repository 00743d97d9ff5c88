import type { ErrorDialect } from '../error-body.ts'
import type { JsonBody } from '../json-body.ts'
import type { Prompts } from '../prompts.ts'
import type { CacheConvention, Usage } from '../usage.ts'

/** The API formats that a client or a provider may speak. */
export const FORMAT_NAMES = [
  'completions',
  'messages',
  'responses',
  'embeddings',
  'anthropicTokenCount',
  'generateContent',
  'geminiCountTokens',
  'realtime',
  'rerank',
] as const
export type FormatName = (typeof FORMAT_NAMES)[number]

/** Below a provider's base path, as each format's public API has it. */
export const FORMAT_PATHS: Readonly<Record<FormatName, string>> = {
  completions: '/chat/completions',
  messages: '/messages',
  responses: '/responses',
  embeddings: '/embeddings',
  anthropicTokenCount: '/messages/count_tokens',
  generateContent: '/generateContent',
  geminiCountTokens: '/countTokens',
  realtime: '/realtime',
  rerank: '/rerank',
}

/** Finds what is recorded about a reply. */
export interface ReplyReader {
  readonly cache: CacheConvention
  /** Of a whole reply or of one event of a stream. */
  usage(reply: unknown): Usage | undefined
  model(reply: unknown): string | undefined
}

/** What the gateway has to know about one API format; one file each. */
export interface Format extends ReplyReader {
  readonly name: FormatName
  readonly errors: ErrorDialect
  /** Changes a streaming request so that its reply will carry usage; false: nothing was changed. */
  askForUsage?(body: JsonBody): boolean
  /** Whether an event is there only because usage was asked for. */
  isUsageEvent?(event: unknown): boolean
  /** Absent: the format has no messages. */
  addPrompts?(body: JsonBody, prompts: Prompts): void
}
