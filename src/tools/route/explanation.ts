import type { HeadSnapshot } from '../../trace/trace-event.ts'
import type { DiffLine } from '../check/line-diff.ts'

/**
 * `reached`: a backend answered. `answered`: a policy answered intentionally, or the gateway with a requested document.
 * `failed`: a backend was called, but the client gets something else. `rejected`: nothing was called. `unmatched`: no
 * listener or no route.
 */
export type Verdict = 'reached' | 'answered' | 'failed' | 'rejected' | 'unmatched'

/** The path of one request as plain data, which `-o json` prints. Locations are `FILE:LINE`. */
export interface Explanation {
  readonly verdict: Verdict
  readonly status: number | null
  /** What determined the response, as in access logs: `Upstream`, `Authorization`, `RateLimit` … */
  readonly reason: string
  readonly error?: string
  readonly request: HeadSnapshot & { readonly body?: string; readonly source: string }
  /** RFC 3339. */
  readonly time: string
  readonly seed: number
  readonly port: number
  /** Null: the connection was closed before. */
  readonly listener: (Chosen & { readonly others: readonly NotChosen[] }) | null
  /** Several if a route delegates to a group of routes. */
  readonly routes: readonly (Chosen & { readonly others: readonly NotChosen[] })[]
  readonly policies: readonly PolicyPassed[]
  /** From the outside in: the backend, then the model or provider. */
  readonly backends: readonly BackendChosen[]
  /** In the order in which they would be made. */
  readonly calls: readonly CallMade[]
  /** Verdicts on the messages of LLM and MCP calls, in order. */
  readonly guards: readonly { readonly action: string; readonly verdict: string; readonly origin?: string }[]
  /** What the conversion between client and provider formats could not carry over. */
  readonly lost: readonly { readonly path: string; readonly reason: string }[]
  readonly response: (HeadSnapshot & { readonly body: string }) | null
  readonly assumed: readonly Assumption[]
}

/** `name`: null if there is none. */
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

/** A policy that applies to the request, and its effect. */
export interface PolicyPassed {
  readonly policy: string
  readonly at: 'connection' | 'listener' | 'route' | 'backend'
  /** `in force`: it makes no decision by itself. `not reached`: the request ended before. */
  readonly result: 'applied' | 'skipped' | 'replied' | 'failed' | 'in force' | 'not reached'
  readonly detail?: string
  readonly origins: readonly string[]
  /** The wider levels whose policy is overridden. */
  readonly overridden: readonly string[]
  /** The source of each field, if several levels declare the policy. */
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
  /** Its subject, if that is not the request: a tool of an MCP target. */
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

/** A call that would be made. */
export interface CallMade {
  readonly to: string
  /** `service`: by a policy, for its own purposes. */
  readonly purpose: 'backend' | 'service'
  readonly method: string
  readonly url: string
  /** Changes from the incoming request to the call; empty for calls of policies. */
  readonly head: readonly DiffLine[]
  readonly body: readonly DiffLine[]
  /** The status of the stub's answer; null without an answer. */
  readonly status: number | null
}

/** What cannot be known without the network. */
export interface Assumption {
  readonly unknown: string
  readonly assumed: string
  /** The flag to change it. */
  readonly flag?: string
}
