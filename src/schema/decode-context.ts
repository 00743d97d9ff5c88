import type { CelCompiler, PatternCompiler } from '../cel/expression.ts'
import type { Finding, Path } from '../diagnostics/diagnostic.ts'
import type { Node } from './builder.ts'
import { describe, typeNames } from './describe.ts'
import { Placeholder } from './placeholder.ts'

/** What `decode` returns for a value with a finding in it; nothing is compiled from it. */
export const INVALID = Symbol('invalid')
export type Invalid = typeof INVALID

export interface DecodeContext {
  report(finding: Finding): void
  /** Where each decoded object and list was written, for who asks. */
  readonly paths?: WeakMap<object, Path>
  /** Absent until a first pass has met an expression or a pattern: their engines load only then. */
  readonly cel: CelCompiler | undefined
  readonly patterns: PatternCompiler | undefined
  /** What a pass without an engine would have needed. */
  readonly missing: Set<'cel' | 'patterns'>
  /** Null stands for an absent key everywhere, as the Kubernetes API takes it; otherwise not for one with a default. */
  readonly dropsNulls?: boolean
}

/** One array that follows the walk through a document: most values are right, and nobody asks where they stand. */
export type LivePath = (string | number)[]

export function wrongType(node: Node, value: unknown, path: Path, ctx: DecodeContext): Invalid {
  const wanted = typeNames(node)
  ctx.report({
    code: 'GW101',
    message: `expected ${wanted}, found ${describe(value)}`,
    path,
    at: 'value',
    label: `expected ${wanted}`,
    ...quoteFix(node, value),
  })
  return INVALID
}

/** A number or boolean where text is wanted is nearly always a missing pair of quotes. */
function quoteFix(node: Node, value: unknown): Pick<Finding, 'help' | 'fix'> {
  if (node.kind !== 'string' || (typeof value !== 'number' && typeof value !== 'boolean')) return {}
  return {
    help: `write it in quotes: "${value}"`,
    fix: { title: 'quote the value', safe: true, replace: 'value', with: JSON.stringify(String(value)) },
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Placeholder)
}
