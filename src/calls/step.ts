import type { Attempt, ConnectionFacts, Exchange, PolicyPlace, Reply } from '../http/exchange.ts'
import type { ChunkSink } from '../http/transport.ts'
import type { TraceScope } from '../trace/trace-event.ts'

export type Verdict = Reply | undefined

/** A transform of a body that may hold chunks back; returning undefined passes nothing on for now. */
export interface BodyHook {
  chunk(data: Buffer): Buffer | undefined
  /** What was held back, when the body is complete. */
  end(): Buffer | undefined
}

/** Stands between a body and where it goes, and may take its time with both. */
export interface BodyPassage {
  around(to: ChunkSink): ChunkSink
}

/**
 * What a policy does, by moment. A hook returns a promise only when it must wait; a request or attempt hook that
 * returns a reply ends the request there. Response and done hooks also see replies made locally.
 */
export interface MomentHooks {
  /** False closes the connection without an answer. `trace`: of a dry run, which knows the request that would follow. */
  connection?(connection: ConnectionFacts, trace?: TraceScope): boolean | Promise<boolean>
  request?(x: Exchange): Verdict | Promise<Verdict>
  /** Each upstream call, after the request's own policies. */
  attempt?(x: Exchange, attempt: Attempt): Verdict | Promise<Verdict>
  response?(x: Exchange): void | Promise<void>
  requestBody?(x: Exchange): BodyHook | undefined
  responseBody?(x: Exchange): BodyHook | BodyPassage | undefined
  /** After the last byte or the abort. */
  done?(x: Exchange): void
}

/** A compiled policy at its place: what runs, and the lines that made it. */
export interface PolicyStep extends PolicyPlace {
  readonly hooks: MomentHooks
}

/** The policies around a call, each list in the order in which they run. */
export interface CallSteps {
  /** Before each call: `attempt` hooks, or the `request` hooks of policies that have no other. */
  readonly attempt: readonly PolicyStep[]
  readonly response: readonly PolicyStep[]
  readonly responseBody: readonly PolicyStep[]
}

/** No policies at all. */
export const NO_STEPS: CallSteps = { attempt: [], response: [], responseBody: [] }

/** bytes; a longer body fails with `responseTooLarge`, or streams on when `failOpen`. */
export interface ResponseBuffering {
  readonly limit: number
  readonly failOpen: boolean
}
