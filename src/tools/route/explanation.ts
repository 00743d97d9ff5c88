import type { HeadSnapshot } from '../../trace/trace-event.ts'
import type { DiffLine } from '../check/line-diff.ts'

/**
 * `reached`: a backend has answered. `answered`: a policy has, by intent, or the gateway with what it is asked for.
 * `failed`: a backend was called, and the client gets something else. `rejected`: nobody was called.
 * `unmatched`: no listener or no route.
 */
export type Verdict = 'reached' | 'answered' | 'failed' | 'rejected' | 'unmatched'

/** What one request meets on its way, as plain data: what `-o json` prints. Places are `FILE:LINE`. */
export interface Explanation {
  readonly verdict: Verdict
  readonly status: number | null
  /** Who decided the answer, as in access logs: `Upstream`, `Authorization`, `RateLimit` … */
  readonly reason: string
  readonly error?: string
  readonly request: HeadSnapshot & { readonly body?: string; readonly source: string }
  /** RFC 3339. */
  readonly time: string
  readonly seed: number
  readonly port: number
  /** Null: the connection was closed before one was looked for. */
  readonly listener: (Chosen & { readonly others: readonly NotChosen[] }) | null
  /** Several where a route leads to a group of routes. */
  readonly routes: readonly (Chosen & { readonly others: readonly NotChosen[] })[]
  readonly policies: readonly PolicyPassed[]
  /** From the outside in: the backend, then the model or provider. */
  readonly backends: readonly BackendChosen[]
  /** In the order in which they would be made. */
  readonly calls: readonly CallMade[]
  /** What the conversion between the formats of client and provider could not carry. */
  readonly lost: readonly { readonly path: string; readonly reason: string }[]
  readonly response: (HeadSnapshot & { readonly body: string }) | null
  readonly assumed: readonly Assumption[]
}

/** `name`: null where none was found. */
interface Chosen {
  readonly name: string | null
  readonly origin?: string
}

export interface NotChosen {
  readonly name: string
  /** The first condition that did not hold. */
  readonly why: string
  readonly origin?: string
}

/** A policy that holds for the request, and what it did. */
export interface PolicyPassed {
  readonly policy: string
  readonly at: 'connection' | 'listener' | 'route' | 'backend'
  /** `in force`: it has nothing to decide by itself. `not reached`: the request ended before. */
  readonly result: 'applied' | 'skipped' | 'replied' | 'failed' | 'in force' | 'not reached'
  readonly detail?: string
  readonly origins: readonly string[]
  /** Where wider levels have written it, without effect. */
  readonly overridden: readonly string[]
  /** Who wrote which field, where several levels have written it. */
  readonly fields: readonly {
    readonly name: string
    readonly wonBy: readonly string[]
    readonly overridden: readonly string[]
  }[]
  readonly rules: readonly RuleJudged[]
  readonly expressions: readonly { readonly expression: string; readonly result?: unknown; readonly error?: string }[]
}

interface RuleJudged {
  readonly rule: string
  readonly mode: string
  readonly matched: boolean
  /** What it is about, where that is not the request: a tool of an MCP target. */
  readonly subject?: string
}

export interface BackendChosen {
  readonly name: string
  /** `host`, `ai`, `mcp`, `model` … */
  readonly kind: string
  readonly why?: string
  readonly origin?: string
  readonly others: readonly NotChosen[]
}

/** A call that would go out. */
export interface CallMade {
  readonly to: string
  /** `service`: by a policy, for itself. */
  readonly purpose: 'backend' | 'service'
  readonly method: string
  readonly url: string
  /** From the request as it came in to the call as it goes out; empty for calls of policies. */
  readonly head: readonly DiffLine[]
  readonly body: readonly DiffLine[]
  /** What stands in for the answer; null where nothing answers. */
  readonly status: number | null
}

/** What cannot be known without the network. */
export interface Assumption {
  readonly unknown: string
  readonly assumed: string
  /** The flag that says otherwise. */
  readonly flag?: string
}
