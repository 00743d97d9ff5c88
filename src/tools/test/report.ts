import { displayPath } from '../../diagnostics/render/report.ts'
import { type WrongOutcome, wordsFor } from './run-case.ts'
import type { RunCase, RunFile } from './run-tests.ts'

/** What a run of tests came to, as every renderer takes it. */
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
  /** Test files that could not run. */
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

/** One request that went wrong, in words; `place` is the line of the configuration that decided. */
export interface WrongWords {
  /** `step 2, repetition 3`; empty where there is one only. */
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

/** Without the line that decided: lines of plain text for formats that have one field for all. */
export function plainLines({ which, fields, decision }: WrongWords): string[] {
  return [
    ...(which === '' ? [] : [`${which}:`]),
    ...fields.map(({ field, expected, actual }) => `${field}: expected ${expected}, got ${actual}`),
    ...(decision ? [decisionLine(decision)] : []),
  ]
}

export function decisionLine({ text, file, line }: NonNullable<WrongWords['decision']>): string {
  return `decided by ${text}${file === undefined ? '' : `  ${file}:${line}`}`
}
