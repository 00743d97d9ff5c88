// What is known of a request to a language model.

/** US dollars by kind of token; as prices, for a million tokens. */
export type LlmAmounts = Readonly<Partial<Record<string, number>>>

export interface LlmCost {
  readonly total: number
  readonly parts: LlmAmounts
  readonly rates: LlmAmounts
}

/** Prices of models. */
export interface CostCatalog {
  /** Whether the model that answered stands there, and with prices; then what its tokens cost. */
  lookUp(llm: LlmFacts): { readonly status: 'Exact' | 'Missing' | 'Unpriced'; readonly cost?: LlmCost }
}

export interface LlmFacts {
  provider: string
  streaming: boolean
  requestModel: string
  responseModel?: string
  inputTokens?: number
  outputTokens?: number
  totalTokens?: number
  cachedInputTokens?: number
  cacheCreationInputTokens?: number
  reasoningTokens?: number
  inputAudioTokens?: number
  outputAudioTokens?: number
  /** The answer to a call that only counts. */
  countTokens?: number
  /** What they cost, where a catalog says so. */
  readonly prices?: CostCatalog | undefined
  /** `chat` when unset. */
  operation?: 'chat' | 'embeddings'
  /** Parameters that the request set, by their names on the wire. */
  params?: Readonly<Record<string, string | number>>
  /** Milliseconds from the start of the upstream call to its first content byte. */
  timeToFirstToken?: number
  /** What the conversion between the client's and the provider's format could not carry; at most 64 of them. */
  losses?: readonly { readonly path: string; readonly reason: string }[]
  lossCount?: number
  /** The parsed request body, while LLM policies run. */
  request?: Readonly<Record<string, unknown>>
}

/** A limit on LLM tokens. What is used in the end is settled when the request is over. */
export interface TokenLimit {
  /** Gives so many input tokens before the call. Throws GatewayError where they are not left. */
  take(tokens: number): void | Promise<void>
  /** Notes so many as used, be they left or not. False: now there are none left. */
  spend(tokens: number): boolean | Promise<boolean>
}

export interface GuardCheck {
  /** Its kind in the file, such as `webhook`. */
  readonly guard: string
  readonly phase: 'Request' | 'Response'
  readonly action: 'Allow' | 'Mask' | 'Reject' | 'FailOpen' | 'Audit' | 'Fail'
  /** What a service says of a refusal, for logs. */
  readonly reason?: string
}
