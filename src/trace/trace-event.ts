import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Exchange } from '../http/exchange.ts'

/**
 * What happens to a request, step by step. One type for the engine that emits it, the admin server that streams it,
 * `gwctl trace` that shows it and the tests. Its JSON Schema is `schemas/trace-event.schema.json`.
 */
export interface TraceEvent {
  /** Counts the events of one watcher from 1 without a gap: a gap is shown by a `dropped` event. */
  readonly seq: number
  /** Microseconds since the request started, monotonic. */
  readonly at: number
  /** For a step with a length: when it began, in the same clock. */
  readonly from?: number
  readonly severity: 'info' | 'success' | 'warn' | 'error'
  readonly request: string
  readonly worker: number
  /** From the outside in: `['attempt 1', 'target time']`; empty for the request itself. */
  readonly scope: readonly string[]
  /** The config lines that made the object this event is about; a merged policy has several. */
  readonly origins: readonly Origin[]
  readonly message: TraceMessage
}

export interface HeadSnapshot {
  readonly method?: string
  readonly url?: string
  readonly status?: number
  /** Name and value pairs; the values of credentials are `<redacted>`. */
  readonly headers: readonly (readonly [string, string])[]
  /** Of a request: whom policies have found it to be from by now, as expressions see it, without the credentials. */
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
      /** Further routes, which nobody looked at for this event. */
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
        /** Whether it counts as holding. */
        readonly matched: boolean
        /** Why it could not be evaluated: a `deny` counts as holding then, unless what it asks for is not there. */
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
      /** What the conversion to the provider's format, or back, could not carry. */
      readonly losses?: readonly { readonly path: string; readonly reason: string }[]
    }
  | {
      readonly type: 'guard'
      readonly guard: string
      readonly phase: 'request' | 'response'
      readonly action: 'allow' | 'mask' | 'reject' | 'audit' | 'failOpen' | 'fail'
      /** What it would have done, had it not been told to record only. */
      readonly would?: 'allow' | 'mask' | 'reject'
      /** Microseconds. */
      readonly duration: number
      /** Names of the rules that have found something. */
      readonly rules?: readonly string[]
      /** In the words of the service that was asked. */
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

/** Present on an exchange only while somebody watches it; every call site is `x.trace?.emit(...)`. */
export interface TraceScope {
  /** Routes that one event names: a gateway that serves others meanwhile does not look at all of them. */
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
   * The request, or once there is one the response, as the named stage has left it; nothing where it is as it was in the
   * last snapshot.
   */
  snapshot(stage: string): void
  /** A body that is in memory, unless it is the one told before. */
  body(stage: string, bytes: Buffer): void
  /** From here until `leave`, events that name no part of the configuration are about this one. Returns `now()`. */
  enter(origins: readonly Origin[]): number
  leave(): void
  /** Microseconds since the request started, for `from`. */
  now(): number
  /** Tells that a call begins. Its end is told at the latest with the end of the request. */
  call(start: CallStart): TracedCall
  /** For what is done under a name of its own; `x`: the exchange that snapshots there are of, unless it is the request's. */
  child(name: string, x?: Exchange): TraceScope
}

export interface CallStart {
  readonly target: string
  /** What for: `backend`, `mirror`, `tools/call`. */
  readonly purpose: string
  /** Why this one is called, and why now. */
  readonly reason?: string | undefined
  readonly origins?: readonly Origin[] | undefined
  /** Whatever becomes of it, the request does not depend on it. */
  readonly beside?: boolean
}

export interface TracedCall {
  /** Later calls do nothing. */
  end(outcome: {
    readonly target: string
    readonly status?: number | undefined
    readonly error?: string | undefined
  }): void
}
