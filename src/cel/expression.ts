import type { Exchange } from '../http/exchange.ts'
import type { CelResult, CelScope, Problem } from '../schema/builder.ts'
import type { FailureKind } from './failure.ts'
import type { Term } from './terms/terms.ts'

/** A checked expression. It is not bound to a request: each evaluation gets its own roots. */
export interface Expression {
  readonly text: string
  readonly scope: CelScope
  readonly result: CelResult
  /** Root variables used by the expression (`request`, `jwt`, …). */
  readonly roots: ReadonlySet<string>
  readonly readsRequestBody: boolean
  readonly readsResponseBody: boolean
  /** The whole expression is `flatten(…)`: a log writes each entry of the resulting map as a separate field. */
  readonly flattens?: boolean
  /** Why it fails for some requests, though not for all. */
  readonly doubt?: Problem | undefined
  /** Never throws: failures are data, identified by code, without values. */
  evaluate(x: Exchange, extra?: Readonly<Record<string, unknown>>): Outcome
  /**
   * The same for expressions that guard something. Clients can make expressions fail, so `has`, `default`, `coalesce`
   * and optionals tolerate only absence here: an unread body, a value of another type or malformed text makes the whole
   * expression fail.
   */
  decide(x: Exchange, extra?: Readonly<Record<string, unknown>>): Outcome
}

/** `value` is plain JSON-like data: strings, numbers (integers as number when safe, else bigint), booleans, Buffer, arrays, objects, Date. */
export type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string; readonly kind: FailureKind }

export interface Rejection {
  readonly problem: Problem
  readonly kind: 'syntax' | 'type' | 'size'
}

export interface CelCompiler {
  /** The mistakes in custom functions, at their places in the functions' text. */
  readonly functionProblems: readonly Rejection[]
  compile(text: string, scope: CelScope, result: CelResult): Expression | Rejection
  /** The syntax tree of an expression as written; undefined for text that is not an expression. */
  termOf(text: string): Term | undefined
}

/** A linear-time regular expression (RE2 syntax). */
export interface Pattern {
  readonly source: string
  /** Anchored patterns must match the whole text; others match anywhere. */
  test(text: string): boolean
  /** Replaces every match; `$1` in `by` is a group. */
  replaceAll(text: string, by: string): string
}

export interface PatternCompiler {
  compile(source: string, anchored: boolean): Pattern | { readonly problem: Problem }
}
