import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { GuardedMessage, Scope, TextRun } from './texts.ts'

export type GuardPhase = 'request' | 'response'

/** What a client gets in place of what a guard has refused. */
export interface Refusal {
  readonly status: number
  readonly body: string
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  /** For logs only. */
  readonly reason?: string | undefined
}

export type Verdict =
  | { readonly action: 'allow' }
  /** New texts of some runs: as many as there were. */
  | {
      readonly action: 'mask'
      readonly texts: ReadonlyMap<TextRun, readonly string[]>
      readonly rules?: readonly string[]
    }
  | { readonly action: 'reject'; readonly refusal: Refusal; readonly rules?: readonly string[] }
  /** What would have been done is recorded, and nothing is changed. */
  | { readonly action: 'audit'; readonly would: 'allow' | 'mask' | 'reject'; readonly reason?: string | undefined }
  /** It could not be asked, and the file says to go on without it. */
  | { readonly action: 'failOpen'; readonly error: string }

export const ALLOW: Verdict = { action: 'allow' }

/** What a guard gets to see: messages of which some runs are in its scope. */
export interface Guarded {
  readonly phase: GuardPhase
  readonly messages: readonly GuardedMessage[]
  /** The runs in scope that have a text. */
  readonly runs: readonly TextRun[]
}

/** A text that goes by in pieces. */
export interface TextStream {
  /** What may be sent on. */
  push(text: string): string
  end(): string
  /** Names of the rules by which something was masked. */
  masked(): readonly string[]
}

export interface Guard {
  /** Its kind in the file, such as `webhook`. */
  readonly name: string
  readonly origins: readonly Origin[]
  readonly scope: ReadonlySet<Scope>
  /**
   * Throws, or rejects, when it cannot tell and must not let anything pass. `x`: the client's request; calls are made for
   * `own`, the provider's.
   */
  check(guarded: Guarded, x: Exchange, own: Exchange): Verdict | Promise<Verdict>
  /** Present: it masks streams as they come. Unset: it is asked about them piece by piece. */
  mask?(): TextStream
}

/** The guards of one place. */
export interface GuardSet {
  /** Whether streamed replies are looked at, too. */
  readonly streaming: boolean
  readonly request: readonly Guard[]
  readonly response: readonly Guard[]
}

/** The guards of all places, by what they look at. */
export interface Guards {
  readonly request: readonly Guard[]
  readonly whole: readonly Guard[]
  readonly streamed: readonly Guard[]
}

/** Undefined: there are none. */
export function guardsOf(sets: readonly GuardSet[]): Guards | undefined {
  const request = sets.flatMap(set => set.request)
  const whole = sets.flatMap(set => set.response)
  const streamed = sets.flatMap(set => (set.streaming ? set.response : []))
  return request.length + whole.length === 0 ? undefined : { request, whole, streamed }
}
