import type { Attempt, ConnectionFacts, Exchange, PolicyPlace, Reply } from '../http/exchange.ts'
import type { ChunkSink } from '../http/transport.ts'
import type { TraceScope } from '../trace/trace-event.ts'

export type Verdict = Reply | undefined

/** A body transform that may hold chunks back; returning undefined emits nothing for now. */
export interface BodyHook {
  chunk(data: Buffer): Buffer | undefined
  /** What was held back; called when the body is complete. */
  end(): Buffer | undefined
}

/** Sits between a body and its sink, and may delay both. */
export interface BodyPassage {
  around(to: ChunkSink): ChunkSink
}

/**
 * A policy's hooks, by stage. A hook returns a promise only if it must wait; a request or attempt hook that returns a
 * reply ends the request there. Response and done hooks also see locally generated replies.
 */
export interface MomentHooks {
  /**
   * False closes the connection without a response. `trace`: of a dry run, which knows the request that would follow.
   */
  connection?(connection: ConnectionFacts, trace?: TraceScope): boolean | Promise<boolean>
  request?(x: Exchange): Verdict | Promise<Verdict>
  /** Runs for each upstream call, after the request's own policies. */
  attempt?(x: Exchange, attempt: Attempt): Verdict | Promise<Verdict>
  response?(x: Exchange): void | Promise<void>
  requestBody?(x: Exchange): BodyHook | undefined
  responseBody?(x: Exchange): BodyHook | BodyPassage | undefined
  /** Runs after the last byte or the abort. */
  done?(x: Exchange): void
}

/** A compiled policy at its place: its hooks, and the config lines that defined it. */
export interface PolicyStep extends PolicyPlace {
  readonly hooks: MomentHooks
}

/** The policies around a call, each list in execution order. */
export interface CallSteps {
  /** Before each call: `attempt` hooks, or the `request` hooks of policies that have no `attempt` hook. */
  readonly attempt: readonly PolicyStep[]
  readonly response: readonly PolicyStep[]
  readonly responseBody: readonly PolicyStep[]
}

export const NO_STEPS: CallSteps = { attempt: [], response: [], responseBody: [] }

/** bytes; a longer body fails with `responseTooLarge`, or streams on when `failOpen`. */
export interface ResponseBuffering {
  readonly limit: number
  readonly failOpen: boolean
}
