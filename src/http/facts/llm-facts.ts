// Facts about a request to a language model.

/** US dollars by kind of token; prices are per million tokens. */
export type LlmAmounts = Readonly<Partial<Record<string, number>>>

export interface LlmCost {
  readonly total: number
  readonly parts: LlmAmounts
  readonly rates: LlmAmounts
}

/** Prices of models. */
export interface CostCatalog {
  /** Whether the catalog has the model that answered, and prices for it; if so, the cost of its tokens. */
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
  /** The result of a token-counting call. */
  countTokens?: number
  /** Price lookup, if a catalog is configured. */
  readonly prices?: CostCatalog | undefined
  /** `chat` when unset. */
  operation?: 'chat' | 'embeddings'
  /** Parameters that the request set, by their names on the wire. */
  params?: Readonly<Record<string, string | number>>
  /** Milliseconds from the start of the upstream call to its first content byte. */
  timeToFirstToken?: number
  /** What the conversion between the client's and the provider's format could not represent; at most 64 entries. */
  losses?: readonly { readonly path: string; readonly reason: string }[]
  lossCount?: number
  /** The parsed request body; set while LLM policies run. */
  request?: Readonly<Record<string, unknown>>
}

/** A limit on LLM tokens. Actual usage is settled when the request ends. */
export interface TokenLimit {
  /** Reserves input tokens before the call. Throws GatewayError if too few are left. */
  take(tokens: number): void | Promise<void>
  /** Records tokens as used, even beyond the limit. False once none are left. */
  spend(tokens: number): boolean | Promise<boolean>
}

export interface GuardCheck {
  /** Its kind in the configuration, such as `webhook`. */
  readonly guard: string
  readonly phase: 'Request' | 'Response'
  readonly action: 'Allow' | 'Mask' | 'Reject' | 'FailOpen' | 'Audit' | 'Fail'
  /** The service's reason for a rejection, for logs. */
  readonly reason?: string
}
