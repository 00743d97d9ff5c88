import type { Paint } from '../../../diagnostics/paint.ts'
import { displayPath } from '../../../diagnostics/render/report.ts'
import { visible } from '../../../diagnostics/visible.ts'
import { countsOf, decisionLine, type TestReport, type WrongWords, wordsOf } from '../report.ts'
import type { RunCase, RunFile } from '../run-tests.ts'

export interface TextOptions {
  readonly paint: Paint
  /** Also show what passed. */
  readonly verbose: boolean
}

/** The failures with their reasons, then a summary line. */
export function renderText(report: TestReport, options: TextOptions): string {
  const blocks = report.files.flatMap(file => fileBlock(file, report, options))
  return `${[...blocks, summaryLine(report, options.paint)].join('\n')}\n`
}

function fileBlock(file: RunFile, { cwd }: TestReport, options: TextOptions): string[] {
  const name = visible(displayPath(file.file, cwd))
  const { paint } = options
  if (file.broken) return [`${paint.error('✖')} ${name}: nothing of it ran`, '']
  const shown = file.cases.filter(({ state }) => options.verbose || state === 'failed')
  if (shown.length === 0) return []
  return [paint.bold(name), ...shown.flatMap(each => caseLines(each, file, cwd, options)), ...stubLines(file), '']
}

/** A misspelt stub is never used, and its service is called without one. */
function stubLines({ cases, ran }: RunFile): string[] {
  if (ran === undefined || cases.every(({ state }) => state !== 'failed')) return []
  const { uncalled, unstubbed } = ran
  if (uncalled.length === 0 || unstubbed.size === 0) return []
  return [`  called without a stub: ${listed(unstubbed)}; stubs that nothing called: ${listed(uncalled)}`]
}

function listed(names: Iterable<string>): string {
  return [...names].map(visible).join(', ')
}

const MARKS = { passed: '✓', failed: '✖', skipped: '-' } as const

function caseLines(run: RunCase, file: RunFile, cwd: string, { paint }: TextOptions): string[] {
  const color = { passed: paint.success, failed: paint.error, skipped: paint.dim }[run.state]
  const reason = run.reason === undefined ? '' : `: ${visible(run.reason)}`
  const line = `  ${color(`${MARKS[run.state]} ${visible(run.name)}`)}${reason}  ${paint.dim(`line ${run.origin.line}`)}`
  return [
    line,
    ...run.wrong.slice(0, SHOWN).flatMap(wrong => wrongLines(wordsOf(wrong, cwd), file, cwd, paint)),
    ...rest(run),
  ]
}

/** Failed requests shown per case; a hundred repetitions say no more than three. */
const SHOWN = 3

function rest({ wrong }: RunCase): string[] {
  return wrong.length > SHOWN ? [`      and ${wrong.length - SHOWN} more like these`] : []
}

function wrongLines(words: WrongWords, file: RunFile, cwd: string, paint: Paint): string[] {
  const { which, fields, decision } = words
  const width = Math.max(...fields.map(({ field }) => field.length))
  return [
    ...(which === '' ? [] : [`    ${which}`]),
    ...fields.map(({ field, expected, actual }) => {
      const name = visible(field).padEnd(width)
      return `      ${name}  expected ${paint.success(visible(expected))}, got ${paint.error(visible(actual))}`
    }),
    ...(decision ? [`      ${visible(decisionLine(decision))}`, ...sourceLine(decision, file, cwd, paint)] : []),
  ]
}

function sourceLine(decision: NonNullable<WrongWords['decision']>, file: RunFile, cwd: string, paint: Paint): string[] {
  const { line } = decision
  const text = file.texts.find(each => displayPath(each.file, cwd) === decision.file)?.text
  if (text === undefined || line === undefined) return []
  const written = visible(text.split('\n')[line - 1]?.trimEnd() ?? '')
  const cut = written.length > LONGEST ? `${written.slice(0, LONGEST)}…` : written
  return [`      ${paint.dim(`${line} |`)} ${cut}`]
}

const LONGEST = 120

/** `✖ 1 failed, 11 passed in 2 files (34 ms)` */
function summaryLine(report: TestReport, paint: Paint): string {
  const { passed, failed, skipped, broken, files } = countsOf(report)
  const counts = [
    failed > 0 && `${failed} failed`,
    broken > 0 && `${broken} could not run`,
    `${passed} passed`,
    skipped > 0 && `${skipped} skipped`,
  ].filter(part => part !== false)
  const bad = failed + broken > 0
  const text = `${bad ? '✖' : '✓'} ${counts.join(', ')} in ${files} file${files === 1 ? '' : 's'}`
  return `${bad ? paint.error(text) : paint.success(text)} ${paint.dim(`(${Math.round(report.duration)} ms)`)}`
}
