/** What a call to somebody else is for; the names are those of the public system's metrics. */
export interface CallPurpose {
  readonly kind: 'Primary' | 'Policy' | 'Mirror'
  readonly subtype:
    | 'Http'
    | 'Llm'
    | 'Mcp'
    | 'ExtAuthz'
    | 'ExtProc'
    | 'Guardrail'
    | 'RateLimit'
    | 'Oidc'
    | 'TokenExchange'
}

export interface CallFacts extends CallPurpose {
  readonly method: string
  /** Path and query; for gRPC it names the method. */
  readonly path: string
}

/**
 * The span of an exchange that is sampled for export; absent otherwise, so every call site is `x.span?.call(...)`.
 * Ids are lower-case hexadecimal, as W3C Trace Context writes them.
 */
export interface RequestSpan {
  readonly traceId: string
  readonly spanId: string
  /** Begins a call that is made for the exchange. Its `traceparent` goes out with it. */
  call(facts: CallFacts): CallSpan
}

export interface CallSpan {
  readonly traceparent: string
  /** The response head has come, or the call has failed. `target` is `host:port`. Later calls of `end` do nothing. */
  end(outcome: { readonly target: string; readonly status?: number; readonly error?: string }): void
}
