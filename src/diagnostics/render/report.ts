import { isAbsolute, relative, sep } from 'node:path'
import type { Diagnostic, Severity } from '../diagnostic.ts'

/** The outcome of one command, as every renderer takes it. */
export interface CheckReport {
  readonly diagnostics: readonly Diagnostic[]
  /** How many files and documents were checked. */
  readonly files: number
  readonly documents: number
  readonly skipped: readonly Skipped[]
  /** The files one by one, as far as they were read. */
  readonly checked?: readonly Checked[]
  /** Found and deliberately not reported. */
  readonly suppressed?: readonly Suppressed[]
  /** What `--fix` has changed. */
  readonly fixed?: readonly Fixed[]
  /** The text of a file that a diagnostic names, for frames. */
  readonly textOf: (file: string) => string | undefined
  /** Paths are shown relative to it. */
  readonly cwd: string
}

export interface Checked {
  readonly file: string
  readonly documents: number
  /** bytes that bodies may take of memory when the file is served; unset: nothing in it reads a body whole. */
  readonly bodies?: number
}

/** Input that was left out on purpose. */
export interface Skipped {
  readonly file: string
  /** 1-based; undefined for the whole file. */
  readonly document?: number
  readonly reason: string
}

/** `inSource`: by a comment beside it. `external`: by the baseline. */
export interface Suppressed {
  readonly diagnostic: Diagnostic
  readonly kind: 'inSource' | 'external'
  readonly reason: string
}

/** A finding that is gone because its fix was applied; its place is where it was found. */
export interface Fixed {
  readonly code: Diagnostic['code']
  readonly file: string
  readonly line: number
  readonly title: string
}

export interface Summary {
  readonly errors: number
  readonly warnings: number
  readonly infos: number
  readonly files: number
  readonly documents: number
  readonly fixable: number
  readonly suppressed: number
  /** Of the only file, where there is one: see `Checked`. Of several none is known to be served. */
  readonly bodies?: number
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 }

/** Sorted by file, place and severity; the same finding at the same place once. */
export function arrange(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const seen = new Set<string>()
  return [...diagnostics].sort(compare).filter(d => {
    const key = JSON.stringify([d.file, d.range.start.offset, d.range.end.offset, d.code, d.message, d.related])
    return seen.size !== seen.add(key).size
  })
}

function compare(a: Diagnostic, b: Diagnostic): number {
  return (
    byText(a.file, b.file) ||
    a.range.start.offset - b.range.start.offset ||
    RANK[a.severity] - RANK[b.severity] ||
    byText(a.code, b.code) ||
    byText(a.message, b.message)
  )
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Counts of `diagnostics`, which are arranged. */
export function summarize(report: CheckReport, diagnostics: readonly Diagnostic[]): Summary {
  const count = (severity: Severity): number => diagnostics.filter(d => d.severity === severity).length
  return {
    errors: count('error'),
    warnings: count('warning'),
    infos: count('info'),
    files: report.files,
    documents: report.documents,
    fixable: diagnostics.filter(d => d.fix?.safe).length,
    suppressed: report.suppressed?.length ?? 0,
    ...bodiesOf(report, count('error')),
  }
}

function bodiesOf({ checked = [] }: CheckReport, errors: number): Pick<Summary, 'bodies'> {
  const [only, ...more] = checked
  return errors > 0 || more.length > 0 || only?.bodies === undefined ? {} : { bodies: only.bodies }
}

/** A file as users write it: relative when it is below `cwd`, with `/`. */
export function displayPath(file: string, cwd: string): string {
  const below = isAbsolute(file) ? relative(cwd, file) : file
  const shown = below === '' || below.startsWith('..') || isAbsolute(below) ? file : below
  return sep === '/' ? shown : shown.replaceAll(sep, '/')
}
