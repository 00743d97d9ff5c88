import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { GuardedMessage, Scope, TextRun } from './texts.ts'

export type GuardPhase = 'request' | 'response'

/** The response to a client whose request or reply a guard rejected. */
export interface Refusal {
  readonly status: number
  readonly body: string
  /** Alternating names and values. */
  readonly headers: readonly string[]
  /** For logs only. */
  readonly reason?: string | undefined
}

export type Verdict =
  | { readonly action: 'allow' }
  /** Replacement texts for some runs, one for each text. */
  | {
      readonly action: 'mask'
      readonly texts: ReadonlyMap<TextRun, readonly string[]>
      readonly rules?: readonly string[]
    }
  | { readonly action: 'reject'; readonly refusal: Refusal; readonly rules?: readonly string[] }
  /** The verdict is only recorded, and nothing is changed. */
  | { readonly action: 'audit'; readonly would: 'allow' | 'mask' | 'reject'; readonly reason?: string | undefined }
  /** The guard could not be called, and is configured to fail open. */
  | { readonly action: 'failOpen'; readonly error: string }

export const ALLOW: Verdict = { action: 'allow' }

/** A guard's input: messages with some runs in its scope. */
export interface Guarded {
  readonly phase: GuardPhase
  readonly messages: readonly GuardedMessage[]
  /** The runs in scope that have text. */
  readonly runs: readonly TextRun[]
}

/** A text that arrives in pieces. */
export interface TextStream {
  /** Returns what can be sent. */
  push(text: string): string
  end(): string
  /** Names of the rules that masked something. */
  masked(): readonly string[]
}

export interface Guard {
  /** Its kind in the configuration, such as `webhook`. */
  readonly name: string
  readonly origins: readonly Origin[]
  readonly scope: ReadonlySet<Scope>
  /**
   * Throws or rejects if it cannot decide and must not let anything pass. `x`: the client's request; calls are made for
   * `own`, the provider call.
   */
  check(guarded: Guarded, x: Exchange, own: Exchange): Verdict | Promise<Verdict>
  /** Set if it can mask streams incrementally. Otherwise it checks them piece by piece. */
  mask?(): TextStream
}

/** The guards configured at one place. */
export interface GuardSet {
  /** Whether streamed responses are guarded too. */
  readonly streaming: boolean
  readonly request: readonly Guard[]
  readonly response: readonly Guard[]
}

/** The guards of all places, by what they check. */
export interface Guards {
  readonly request: readonly Guard[]
  readonly whole: readonly Guard[]
  readonly streamed: readonly Guard[]
}

/** Undefined if there are none. */
export function guardsOf(sets: readonly GuardSet[]): Guards | undefined {
  const request = sets.flatMap(set => set.request)
  const whole = sets.flatMap(set => set.response)
  const streamed = sets.flatMap(set => (set.streaming ? set.response : []))
  return request.length + whole.length === 0 ? undefined : { request, whole, streamed }
}
