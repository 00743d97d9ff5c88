import { isAbsolute, relative, sep } from 'node:path'
import type { Diagnostic, Severity } from '../diagnostic.ts'

/** The outcome of one command: the input of every renderer. */
export interface CheckReport {
  readonly diagnostics: readonly Diagnostic[]
  /** Number of files and documents checked. */
  readonly files: number
  readonly documents: number
  readonly skipped: readonly Skipped[]
  /** The individual files, as far as they were read. */
  readonly checked?: readonly Checked[]
  /** Found but deliberately not reported. */
  readonly suppressed?: readonly Suppressed[]
  /** Findings fixed by `--fix`. */
  readonly fixed?: readonly Fixed[]
  /** The text of a file referenced by a diagnostic, for frames. */
  readonly textOf: (file: string) => string | undefined
  /** Paths are shown relative to this. */
  readonly cwd: string
}

export interface Checked {
  readonly file: string
  readonly documents: number
  /** Maximum bytes of buffered bodies when the file is served; unset if nothing in it buffers a body. */
  readonly bodies?: number
}

/** Deliberately skipped input. */
export interface Skipped {
  readonly file: string
  /** 1-based; undefined if the whole file was skipped. */
  readonly document?: number
  readonly reason: string
}

/** `inSource`: by an adjacent comment. `external`: by the baseline. */
export interface Suppressed {
  readonly diagnostic: Diagnostic
  readonly kind: 'inSource' | 'external'
  readonly reason: string
}

/** A finding whose fix was applied, at its original place. */
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
  /** If there is a single file: see `Checked`. With several it is unknown which are served. */
  readonly bodies?: number
}

const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, info: 2 }

/** Sorted by file, place and severity; duplicates removed. */
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

/** Counts `diagnostics`, which must be arranged. */
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

/** A file path for display: relative if below `cwd`, with `/`. */
export function displayPath(file: string, cwd: string): string {
  const below = isAbsolute(file) ? relative(cwd, file) : file
  const shown = below === '' || below.startsWith('..') || isAbsolute(below) ? file : below
  return sep === '/' ? shown : shown.replaceAll(sep, '/')
}
