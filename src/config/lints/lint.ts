import type { Term } from '../../cel/terms/terms.ts'
import type { Finding, Path } from '../../diagnostics/diagnostic.ts'
import type { SourceDocument } from '../../diagnostics/source.ts'
import type { Tier } from '../compile-context.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Standalone, TargetedPolicy } from '../standalone/standalone.ts'
import type { WrittenValue } from '../written-values.ts'

/** Policies at one place of the file, by name. */
export type Policies = TargetedPolicy['policy']

export interface PolicySite {
  readonly level: 'listener' | 'route' | 'backend' | 'targeted' | 'section'
  readonly policies: Policies
  /** Of the object that holds the policies. */
  readonly path: Path
}

export interface WrittenTerm {
  readonly node: Extract<WrittenValue['node'], { kind: 'cel' }>
  readonly text: string
  readonly term: Term
  /** Valid during the visit only. */
  readonly path: Path
}

/** A configuration without errors, as lints see it. */
export interface LintedFile {
  readonly config: Standalone
  readonly snapshot: Snapshot
  readonly document: SourceDocument
  readonly tier: Tier
  readonly env: Readonly<Record<string, string | undefined>>
  readonly sites: readonly PolicySite[]
  /** Subscribes to every value of this kind. Visited once all lints have been called. */
  visit(kind: WrittenValue['node']['kind'] | 'any', see: (found: WrittenValue) => void): void
  /** The same for every expression, with its parsed tree. */
  visitTerms(see: (found: WrittenTerm) => void): void
  /** Undefined for an expression that does not compile. */
  termOf(text: string): Term | undefined
  /** Where a decoded object, list or map was written. */
  pathOf(part: object): Path
  /** The source text of the value, with quotes and variables. */
  textAt(path: Path): string
  report(finding: Finding): void
}

/** Reports one kind of doubtful configuration: valid, but unlikely to be what its author meant. */
export type Lint = (file: LintedFile) => void
