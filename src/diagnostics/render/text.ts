import type { Diagnostic, RelatedPlace } from '../diagnostic.ts'
import { bar, frame } from '../frame.ts'
import type { Paint } from '../paint.ts'
import { sizeText } from '../size-text.ts'
import { visible } from '../visible.ts'
import { arrange, type CheckReport, displayPath, type Summary, summarize } from './report.ts'

export interface TextOptions {
  readonly paint: Paint
  /** Number of findings shown; 0 shows all. The summary always counts all. */
  readonly maxProblems?: number
  /** Width of a source line in cells. */
  readonly width?: number
  /** The configuration is rejected: warnings count as reasons. */
  readonly refused?: boolean
}

const DEFAULT_MAX_PROBLEMS = 50
const DEFAULT_WIDTH = 100

/** Human-readable: every finding with its source line, then the summary. */
export function renderText(report: CheckReport, options: TextOptions): string {
  const all = arrange(report.diagnostics)
  const shown = limit(all, options.maxProblems)
  const frames = shown.map(diagnostic => renderDiagnostic(diagnostic, report, options))
  const hidden = all.length - shown.length
  if (hidden > 0) frames.push(`${hiddenLine(hidden)}\n`)
  frames.push(summaryLine(summarize(report, all), report.skipped.length, options.paint, options.refused))
  return `${frames.join('\n')}\n`
}

export function limit(diagnostics: readonly Diagnostic[], maxProblems = DEFAULT_MAX_PROBLEMS): readonly Diagnostic[] {
  return maxProblems === 0 ? diagnostics : diagnostics.slice(0, maxProblems)
}

export function hiddenLine(hidden: number): string {
  return `… ${count(hidden, 'more problem')} not shown (--max-problems 0 shows all)`
}

/** `✖ 3 errors, 1 warning in 2 files (7 documents) · 1 fixable` */
export function summaryLine(summary: Summary, skipped: number, paint: Paint, refused = false): string {
  const { errors, warnings, infos, fixable } = summary
  const counts = [
    errors > 0 && count(errors, 'error'),
    warnings > 0 && count(warnings, 'warning'),
    infos > 0 && count(infos, 'note'),
  ].filter(part => part !== false)
  const found = counts.length === 0 ? 'no problems' : counts.join(', ')
  const where = `in ${count(summary.files, 'file')} (${count(summary.documents, 'document')})`
  const extras = [
    fixable > 0 && `${fixable} fixable`,
    summary.suppressed > 0 && `${summary.suppressed} suppressed`,
    skipped > 0 && `${skipped} skipped`,
    summary.bodies !== undefined && `bodies in memory: at most ${sizeText(summary.bodies)}`,
  ].filter(part => part !== false)
  const failed = errors > 0 || refused
  const line = [`${failed ? '✖' : '✓'} ${found} ${where}`, ...extras].join(' · ')
  return failed ? paint.error(line) : warnings > 0 ? paint.warning(line) : paint.success(line)
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}

/** One finding in the style of the Rust compiler: header, location, line, underline, then notes. */
export function renderDiagnostic(d: Diagnostic, report: Pick<CheckReport, 'textOf' | 'cwd'>, o: TextOptions): string {
  const { paint } = o
  const lines = [d.range.start.line, ...d.related.map(place => place.range.start.line)]
  const gutter = String(Math.max(...lines)).length
  const out = [`${paint[d.severity](`${d.severity}[${d.code}]`)}${paint.bold(`: ${visible(d.message)}`)}`]
  const about = aboutDocument(d)
  out.push(`${place('-->', d, gutter, report, paint)}${about}`)
  out.push(...snippet(d, { label: d.label, mark: '^', context: true }, gutter, report, o))
  for (const other of d.related) {
    out.push(place(':::', other, gutter, report, paint))
    out.push(...snippet(other, { label: other.message, mark: '-', context: false }, gutter, report, o))
  }
  if (out.length > 2) out.push(bar(gutter, paint))
  for (const [name, text] of remarks(d)) out.push(remark(name, text, gutter, paint))
  return `${out.join('\n')}\n`
}

function aboutDocument(d: Diagnostic): string {
  const parts = [
    d.document && `document ${d.document.index} of ${d.document.of}`,
    d.template && visible(d.template),
    d.resource && visible(d.resource),
  ]
  const about = parts.filter(part => part !== undefined).join(', ')
  return about === '' ? '' : ` (${about})`
}

type Somewhere = Pick<RelatedPlace, 'file' | 'range'>
type Where = Pick<CheckReport, 'textOf' | 'cwd'>

function place(arrow: string, at: Somewhere, gutter: number, where: Where, paint: Paint): string {
  const { line, col } = at.range.start
  return `${' '.repeat(gutter)}${paint.dim(arrow)} ${visible(displayPath(at.file, where.cwd))}:${line}:${col}`
}

interface Marking {
  readonly label: string | undefined
  readonly mark: '^' | '-'
  readonly context: boolean
}

function snippet(at: Somewhere, marking: Marking, gutter: number, where: Where, o: TextOptions): string[] {
  const text = where.textOf(at.file)
  if (text === undefined || text === '' || at.range.start.offset > text.length) return []
  const options = { ...marking, gutter, width: o.width ?? DEFAULT_WIDTH }
  return [bar(gutter, o.paint), ...frame(text, at.range, options, o.paint)]
}

function* remarks(d: Diagnostic): Generator<readonly [name: string, text: string]> {
  const fixable = d.fix && `(fixable: gwctl validate --fix${d.fix.safe ? '' : '=all'})`
  if (d.help !== undefined || d.fix) yield ['help', [d.help ?? d.fix?.title, fixable].filter(Boolean).join('   ')]
  if (d.note !== undefined) yield ['note', d.note]
  if (d.path !== '') yield ['path', d.path]
  yield ['docs', `gwctl explain ${d.code}`]
}

/** Continuation lines are aligned with the first word. */
export function remark(name: string, text: string, gutter: number, paint: Paint): string {
  const [first = '', ...more] = text.split(/\r?\n/).map(visible)
  const indent = ' '.repeat(gutter + 1)
  const head = `${indent}${paint.dim('=')} ${paint.bold(`${name}:`)} ${first}`
  return [head, ...more.map(line => `${indent}${' '.repeat(name.length + 4)}${line}`)].join('\n')
}
