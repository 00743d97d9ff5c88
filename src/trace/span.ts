/** The purpose of an outgoing call; the names are those of the public system's metrics. */
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
  /** Path and query; for gRPC the path is the method. */
  readonly path: string
}

/**
 * The span of an exchange that is sampled for export; absent otherwise, so every call site is `x.span?.call(...)`. Ids
 * are lower-case hexadecimal, as in W3C Trace Context.
 */
export interface RequestSpan {
  readonly traceId: string
  readonly spanId: string
  /** Starts the span of a call made for the exchange. Its `traceparent` is sent with the call. */
  call(facts: CallFacts): CallSpan
}

export interface CallSpan {
  readonly traceparent: string
  /**
   * The response head has arrived, or the call has failed. `target` is `host:port`. Later calls of `end` are ignored.
   */
  end(outcome: { readonly target: string; readonly status?: number; readonly error?: string }): void
}
