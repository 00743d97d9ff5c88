import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Exchange } from '../http/exchange.ts'

/**
 * The steps of a request as they happen. One type for the engine that emits it, the admin server that streams it,
 * `gwctl trace` that prints it and the tests. Its JSON Schema is `schemas/trace-event.schema.json`.
 */
export interface TraceEvent {
  /** Numbers a watcher's events from 1 without gaps; lost events are reported by a `dropped` event. */
  readonly seq: number
  /** Microseconds since the request started, monotonic. */
  readonly at: number
  /** For a step with a duration: when it began, on the same clock. */
  readonly from?: number
  readonly severity: 'info' | 'success' | 'warn' | 'error'
  readonly request: string
  readonly worker: number
  /** From the outside in: `['attempt 1', 'target time']`; empty for the request itself. */
  readonly scope: readonly string[]
  /** The config lines that defined the object this event is about; a merged policy has several. */
  readonly origins: readonly Origin[]
  readonly message: TraceMessage
}

export interface HeadSnapshot {
  readonly method?: string
  readonly url?: string
  readonly status?: number
  /** Name and value pairs; credential values are `<redacted>`. */
  readonly headers: readonly (readonly [string, string])[]
  /** For a request: the principal established by policies so far, as exposed to expressions, without credentials. */
  readonly jwt?: Readonly<Record<string, unknown>>
  readonly apiKey?: Readonly<Record<string, unknown>>
  readonly basicAuth?: { readonly username: string }
}

export type TraceMessage =
  | {
      readonly type: 'requestStarted'
      readonly method: string
      readonly url: string
      readonly source: string
      readonly time: string
    }
  | { readonly type: 'snapshot'; readonly stage: string; readonly state: HeadSnapshot }
  | { readonly type: 'listener'; readonly bind: string; readonly listener: string | null }
  | {
      readonly type: 'route'
      readonly selected: string | null
      readonly tried: readonly { readonly route: string; readonly failed: string; readonly origin?: Origin }[]
      /** Number of further routes that were not evaluated for this event. */
      readonly more?: number
    }
  | { readonly type: 'policySelection'; readonly phase: string; readonly policies: readonly string[] }
  | {
      readonly type: 'policy'
      readonly policy: string
      readonly phase: string
      readonly result: 'applied' | 'skipped' | 'replied' | 'failed'
      readonly detail?: string
    }
  | { readonly type: 'cel'; readonly expression: string; readonly result?: unknown; readonly error?: string }
  | {
      readonly type: 'authorization'
      readonly result: 'allow' | 'deny'
      readonly subject?: string
      readonly rules: readonly {
        readonly rule: string
        readonly mode: string
        /** Whether it counts as matched. */
        readonly matched: boolean
        /** Why it could not be evaluated. A `deny` then counts as matched, unless what it refers to is absent. */
        readonly error?: string
      }[]
    }
  | {
      readonly type: 'backend'
      readonly backend: string
      readonly kind: string
      readonly reason?: string
      readonly others?: readonly { readonly backend: string; readonly reason: string }[]
    }
  | { readonly type: 'callStart'; readonly target: string; readonly purpose: string; readonly reason?: string }
  | { readonly type: 'callEnd'; readonly target: string; readonly status?: number; readonly error?: string }
  | {
      readonly type: 'mcp'
      readonly method: string
      readonly target?: string
      readonly name?: string
      readonly detail?: string
    }
  | {
      readonly type: 'a2a'
      readonly method: string
      readonly task?: string
      readonly state?: string
      /** JSON-RPC error code. */
      readonly error?: number
    }
  | {
      readonly type: 'llm'
      readonly provider: string
      readonly model: string
      readonly streaming: boolean
      readonly inputTokens?: number
      readonly outputTokens?: number
      /** US dollars. */
      readonly cost?: number
      /** What the conversion to or from the provider's format could not represent. */
      readonly losses?: readonly { readonly path: string; readonly reason: string }[]
    }
  | {
      readonly type: 'guard'
      readonly guard: string
      readonly phase: 'request' | 'response'
      readonly action: 'allow' | 'mask' | 'reject' | 'audit' | 'failOpen' | 'fail'
      /** The action it would have taken if it were not in record-only mode. */
      readonly would?: 'allow' | 'mask' | 'reject'
      /** Microseconds. */
      readonly duration: number
      /** Names of the rules that matched. */
      readonly rules?: readonly string[]
      /** The reason given by the service. */
      readonly reason?: string
      readonly error?: string
    }
  | {
      readonly type: 'body'
      readonly stage: string
      readonly bytes: number
      readonly base64: string
      readonly truncated: boolean
    }
  | {
      readonly type: 'requestFinished'
      readonly status: number | null
      readonly error?: string
      readonly reason?: string
      readonly bytes: number
    }
  | { readonly type: 'dropped'; readonly count: number }

export type TraceMessageType = TraceMessage['type']

/** Present on an exchange only while it is being watched; every call site is `x.trace?.emit(...)`. */
export interface TraceScope {
  /** Maximum routes listed in one event: a gateway with live traffic does not evaluate all of them. */
  readonly mostRoutes: number
  emit(
    message: TraceMessage,
    about?: {
      readonly severity?: TraceEvent['severity']
      readonly origins?: readonly Origin[]
      readonly from?: number
    },
  ): void
  /**
   * Emits the request, or the response once there is one, as the named stage left it; nothing if unchanged since the
   * last snapshot.
   */
  snapshot(stage: string): void
  /** Emits a buffered body, unless it is the one emitted last. */
  body(stage: string, bytes: Buffer): void
  /** Until `leave`, events without origins of their own get these. Returns `now()`. */
  enter(origins: readonly Origin[]): number
  leave(): void
  /** Microseconds since the request started, for `from`. */
  now(): number
  /** Emits the start of a call. Its end is emitted when the request ends, at the latest. */
  call(start: CallStart): TracedCall
  /** A nested scope; `x` is the exchange that its snapshots show, if not the request's own. */
  child(name: string, x?: Exchange): TraceScope
}

export interface CallStart {
  readonly target: string
  /** `backend`, `mirror`, `tools/call`. */
  readonly purpose: string
  /** Why this target was chosen, and why now. */
  readonly reason?: string | undefined
  readonly origins?: readonly Origin[] | undefined
  /** The request does not depend on its outcome. */
  readonly beside?: boolean
}

export interface TracedCall {
  /** Later calls are ignored. */
  end(outcome: {
    readonly target: string
    readonly status?: number | undefined
    readonly error?: string | undefined
  }): void
}
