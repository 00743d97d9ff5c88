import { displayPath } from '../../diagnostics/render/report.ts'
import { type WrongOutcome, wordsFor } from './run-case.ts'
import type { RunCase, RunFile } from './run-tests.ts'

/** The results of a test run, for every renderer. */
export interface TestReport {
  readonly files: readonly RunFile[]
  /** Paths are shown relative to it. */
  readonly cwd: string
  /** ms. */
  readonly duration: number
}

interface TestCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** Number of test files that could not run. */
  readonly broken: number
  readonly files: number
}

export function countsOf({ files }: TestReport): TestCounts {
  const cases = files.flatMap(file => file.cases)
  const count = (state: RunCase['state']) => cases.filter(each => each.state === state).length
  return {
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    broken: files.filter(({ broken }) => broken).length,
    files: files.length,
  }
}

/** A failed request in words; `place` is the configuration line that decided. */
export interface WrongWords {
  /** `step 2, repetition 3`; empty if there is only one. */
  readonly which: string
  readonly fields: readonly { readonly field: string; readonly expected: string; readonly actual: string }[]
  readonly decision?: { readonly text: string; readonly file?: string; readonly line?: number }
}

export function wordsOf({ fields, decision, ...wrong }: WrongOutcome, cwd: string): WrongWords {
  const which = wordsFor(wrong)
  if (decision === undefined) return { which, fields }
  const { text, origin } = decision
  return {
    which,
    fields,
    decision: { text, ...(origin && { file: displayPath(origin.file, cwd), line: origin.line }) },
  }
}

/** Plain text for formats with a single field, without the deciding line. */
export function plainLines({ which, fields, decision }: WrongWords): string[] {
  return [
    ...(which === '' ? [] : [`${which}:`]),
    ...fields.map(({ field, expected, actual }) => `${field}: expected ${expected}, got ${actual}`),
    ...(decision ? [decisionLine(decision)] : []),
  ]
}

export function decisionLine({ text, file, line }: NonNullable<WrongWords['decision']>): string {
  return `decided by ${text}${file === undefined ? '' : `  ${line ? `${file}:${line}` : file}`}`
}
