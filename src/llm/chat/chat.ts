/** Conversation formats; each has a codec. */
export const CHAT_FORMATS = ['completions', 'messages', 'responses', 'generateContent', 'converse'] as const
export type ChatFormat = (typeof CHAT_FORMATS)[number]

/**
 * A chat request in the neutral form that every codec reads and writes. It covers what at least two formats support;
 * what only the client's format supports stays in `extras` and is lost unless the target takes it by name.
 */
export interface Chat {
  /** The source format: paths in losses refer to its body. */
  readonly from: ChatFormat
  model: string
  stream: boolean
  /** The provider accepts reasoning of earlier turns even if its format has no field for it. */
  takesThoughts?: boolean
  /** Instructions ahead of the conversation. */
  readonly system: TextPart[]
  readonly turns: Turn[]
  readonly tools: Tool[]
  toolChoice?: ToolChoice
  readonly settings: Settings
  /** The settings' names in the client's format. */
  readonly names: SettingNames
  /** Members of the body without a neutral form, by name. */
  readonly extras: Record<string, unknown>
  /** Tool names that the target required changing: name as sent to client's name. */
  readonly renamed: Map<string, string>
}

export interface Settings {
  maxTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  stop?: readonly string[]
  seed?: number
  frequencyPenalty?: number
  presencePenalty?: number
  /** Number of choices. */
  choices?: number
  logprobs?: boolean
  topLogprobs?: number
  logitBias?: unknown
  parallelTools?: boolean
  reasoning?: Reasoning
  output?: OutputFormat
  user?: string
  metadata?: unknown
  serviceTier?: string
  verbosity?: string
  cacheKey?: string
  cacheRetention?: string
  safetyId?: string
}
export type Setting = keyof Settings
/** The name of each setting in a format; a setting without a name is lost. */
export type SettingNames = Readonly<Partial<Record<Setting, string>>>

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

export interface Reasoning {
  readonly effort?: Effort
  /** Tokens. */
  readonly budget?: number
  /** The model decides how much to think. */
  readonly adaptive?: boolean
  /** How much of it is shown: `auto`, `concise`, `detailed`, `summarized` or `omitted`. */
  readonly summary?: string
}

export type OutputFormat =
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema'
      readonly schema: unknown
      readonly name?: string
      readonly description?: string
      readonly strict?: boolean
    }

export type Role = 'user' | 'assistant' | 'system'

export interface Turn {
  readonly role: Role
  readonly parts: Part[]
  /** The speaker, in formats that name one. */
  readonly name?: string
  /** Path in the client's body, such as `messages[2]`. */
  readonly at: string
}

interface Placed {
  /** Path in the client's body, such as `messages[2].content[0]`; empty in responses. */
  readonly at: string
}

export interface TextPart extends Placed {
  readonly kind: 'text'
  readonly text: string
  /** Followed by a cache point. */
  readonly cache?: CacheMark
  readonly citations?: readonly unknown[]
  readonly signature?: string
}
export interface ImagePart extends Placed {
  readonly kind: 'image'
  readonly source: Source
  readonly detail?: string
  readonly cache?: CacheMark
}
export interface AudioPart extends Placed {
  readonly kind: 'audio'
  /** Media type, such as `audio/wav`. */
  readonly mediaType: string
  /** Base64. */
  readonly data: string
}
export interface DocumentPart extends Placed {
  readonly kind: 'document'
  readonly source: Source
  readonly name?: string
  /** Context for the model about the document. */
  readonly context?: string
  /** The response cites the passages that it relies on. */
  readonly citations?: boolean
  readonly cache?: CacheMark
}
export interface ToolCallPart extends Placed {
  readonly kind: 'toolCall'
  readonly id: string
  readonly name: string
  /** The arguments as JSON text, or a custom tool's text, as the model wrote it. */
  readonly arguments: string
  readonly custom?: boolean
  readonly signature?: string
  readonly cache?: CacheMark
}
export interface ToolResultPart extends Placed {
  readonly kind: 'toolResult'
  readonly id: string
  /** The tool's name, in formats that state it. */
  readonly name?: string
  readonly parts: readonly Part[]
  readonly error?: boolean
  readonly custom?: boolean
  readonly cache?: CacheMark
}
export interface ReasoningPart extends Placed {
  readonly kind: 'reasoning'
  readonly text: string
  readonly signature?: string
  /** Encrypted reasoning without text. */
  readonly redacted?: string
  readonly id?: string
}
export interface RefusalPart extends Placed {
  readonly kind: 'refusal'
  readonly text: string
}
/** A part that only the client's format supports. */
export interface ForeignPart extends Placed {
  readonly kind: 'foreign'
  readonly type: string
  readonly value: unknown
}
export type Part =
  | TextPart
  | ImagePart
  | AudioPart
  | DocumentPart
  | ToolCallPart
  | ToolResultPart
  | ReasoningPart
  | RefusalPart
  | ForeignPart

/** `ttl` as written by the client, such as `1h`. */
export interface CacheMark {
  readonly ttl?: string
  /** Its path, where it is no member of what it marks. */
  readonly at?: string
}

export type Source =
  | { readonly kind: 'data'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string; readonly mediaType?: string }
  | { readonly kind: 'file'; readonly id: string }
  | { readonly kind: 'text'; readonly text: string }

export interface Tool extends Placed {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments. Undefined if none was given. */
  readonly schema?: unknown
  readonly strict?: boolean
  /** Takes text instead of JSON. */
  readonly custom?: boolean
  /** A tool that runs at the client's provider: its type there. */
  readonly foreign?: string
  readonly cache?: CacheMark
}

export type ToolChoice =
  | { readonly mode: 'auto' | 'required' | 'none' }
  | { readonly mode: 'tool'; readonly name: string; readonly custom?: boolean }
  | { readonly mode: 'some'; readonly names: readonly string[]; readonly required: boolean }

const STOP_REASONS = [
  'end',
  'stopSequence',
  'length',
  'contextWindow',
  'toolCalls',
  'filter',
  'refusal',
  'pause',
  'other',
] as const
export type StopReason = (typeof STOP_REASONS)[number]

/** Input includes tokens read from and written to a cache, whatever the provider's convention. */
export interface ChatUsage {
  readonly input?: number
  readonly output?: number
  readonly total?: number
  readonly cacheRead?: number
  readonly cacheCreation?: number
  readonly reasoning?: number
  readonly inputAudio?: number
  readonly outputAudio?: number
}

/** Token log probabilities of a response, in OpenAI's form. */
export interface Logprobs {
  readonly content: readonly TokenLogprob[]
}
export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes?: readonly number[] | null
  readonly top_logprobs?: readonly Omit<TokenLogprob, 'top_logprobs'>[]
}

export interface Choice {
  readonly parts: readonly Part[]
  readonly stop: StopReason
  readonly stopSequence?: string
  /** For `other`: the provider's word. */
  readonly ended?: string
  readonly logprobs?: Logprobs
}

export interface ChatReply {
  readonly id?: string
  readonly model?: string
  /** Seconds since 1970. */
  readonly created?: number
  readonly choices: readonly Choice[]
  readonly usage?: ChatUsage
  readonly serviceTier?: string
}

/** A streamed response. Parts are numbered over the whole stream; parts of one choice may overlap. */
export type ChatEvent =
  | { readonly type: 'start'; readonly id?: string; readonly model?: string; readonly created?: number }
  | OpenEvent
  | { readonly type: 'delta'; readonly part: number; readonly text: string }
  | { readonly type: 'signature'; readonly part: number; readonly signature: string }
  | { readonly type: 'close'; readonly part: number }
  | { readonly type: 'logprobs'; readonly choice: number; readonly value: Logprobs }
  | {
      readonly type: 'stop'
      readonly choice: number
      readonly reason: StopReason
      readonly sequence?: string
      readonly ended?: string
    }
  | { readonly type: 'usage'; readonly usage: ChatUsage }
  | { readonly type: 'lost'; readonly path: string; readonly what?: string }
  | { readonly type: 'error'; readonly error: LlmError }
  | { readonly type: 'end' }

export type StreamedKind = 'text' | 'reasoning' | 'redacted' | 'refusal' | 'toolCall'

export interface OpenEvent {
  readonly type: 'open'
  readonly part: number
  readonly choice: number
  readonly kind: StreamedKind
  /** For a tool call or a reasoning item. */
  readonly id?: string
  readonly name?: string
  readonly custom?: boolean
  /** For a tool call. */
  readonly signature?: string
}

const ERROR_KINDS = [
  'invalid',
  'authentication',
  'permission',
  'notFound',
  'tooLarge',
  'rateLimit',
  'overloaded',
  'timeout',
  'filter',
  'server',
] as const
export type ErrorKind = (typeof ERROR_KINDS)[number]

/** An error reported by a provider or the gateway, in any format. */
export interface LlmError {
  readonly kind: ErrorKind
  readonly message: string
  readonly code?: string
  readonly param?: string
}
