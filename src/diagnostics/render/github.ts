import type { Diagnostic, Severity } from '../diagnostic.ts'
import { plainPaint } from '../paint.ts'
import { visible } from '../visible.ts'
import { arrange, type CheckReport, displayPath, summarize } from './report.ts'
import { summaryLine } from './text.ts'

const COMMAND: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'notice' }
const RANK: readonly Severity[] = ['error', 'warning', 'info']
/** A step shows this many annotations of each kind and drops the others. */
const SHOWN = 10

/** Workflow commands: the first findings of each severity as annotations, the others in a group of the log. */
export function renderGithub(report: CheckReport): string {
  const all = arrange(report.diagnostics)
  const shown = RANK.flatMap(severity => all.filter(d => d.severity === severity).slice(0, SHOWN))
  const rest = all.filter(d => !shown.includes(d))
  const lines = shown.map(d => annotation(d, report.cwd))
  if (rest.length > 0) {
    lines.push(`::group::${rest.length} more problems that GitHub shows no annotation for`)
    lines.push(...rest.map(d => logLine(d, report.cwd)))
    lines.push('::endgroup::')
  }
  return lines.map(line => `${line}\n`).join('')
}

function annotation(d: Diagnostic, cwd: string): string {
  const { start, end } = d.range
  // GitHub refuses columns for a range of several lines.
  const columns = start.line === end.line ? { col: start.col, endColumn: Math.max(start.col, end.col - 1) } : {}
  const properties = {
    file: displayPath(d.file, cwd),
    line: start.line,
    endLine: end.line,
    ...columns,
    title: `${d.code} ${d.resource ?? ''}`.trim(),
  }
  const message = [d.message, d.label, d.help, d.note].filter(part => part !== undefined).join('\n')
  return workflowCommand(COMMAND[d.severity] ?? 'notice', properties, message)
}

/** A line that the runner makes an annotation of, whatever the texts in it hold. */
export function workflowCommand(
  name: string,
  properties: Readonly<Record<string, string | number>>,
  message: string,
): string {
  const text = Object.entries(properties).map(([key, value]) => `${key}=${property(String(value))}`)
  return `::${name} ${text.join(',')}::${data(message)}`
}

/** The runner takes `##[command]` anywhere in a line. */
function inert(text: string): string {
  return visible(text).replaceAll('##[', '# #[')
}

/** The runner decodes exactly these; other control characters have no business in a log. */
function data(text: string): string {
  return text.split('\n').map(inert).join('\n').replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

/** Never at the start of a line: there, two colons would make a command of a file's name. */
function logLine(d: Diagnostic, cwd: string): string {
  const place = `${inert(displayPath(d.file, cwd))}:${d.range.start.line}:${d.range.start.col}`
  return `- ${place}: ${d.severity} ${d.code} ${inert(d.message)}`
}

/** Rows of the table that a job's page can carry. */
const MAX_ROWS = 200

/** For the file that `GITHUB_STEP_SUMMARY` names, in Markdown. */
export function renderGithubSummary(report: CheckReport): string {
  const all = arrange(report.diagnostics)
  const line = summaryLine(summarize(report, all), report.skipped.length, plainPaint)
  const rows = all.slice(0, MAX_ROWS).map(d => {
    const place = `${displayPath(d.file, report.cwd)}:${d.range.start.line}`
    return `| ${d.severity} | ${d.code} | ${markdownText(place)} | ${markdownText(d.message)} |`
  })
  const table = rows.length === 0 ? '' : `\n| | Code | Place | Problem |\n|---|---|---|---|\n${rows.join('\n')}\n`
  const more = all.length > MAX_ROWS ? `\n${all.length - MAX_ROWS} more are in the log.\n` : ''
  return `### gwctl validate\n\n${line}\n${table}${more}`
}

/** What begins or ends Markdown, HTML, mathematics or a cell, and what makes a link of an address. */
const MARKUP = String.raw`[\\\x60*[\]<>&~$|]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=\bwww)\.`
/** `@name`, `#1`, `GH-1`, `:name:`: GitHub looks for these in the finished page, where an entity is what it stands for. */
const REFERENCE = String.raw`@(?=\w)|#(?=\d)|\bGH-(?=\d)|:(?=[\w+-]+:)`
const ACTIVE = new RegExp(`(${MARKUP})|${REFERENCE}`, 'gi')

/** Plain words in a table: neither Markdown nor HTML of a file's text takes effect, and nobody is called by name. */
export function markdownText(text: string): string {
  return visible(text).replace(ACTIVE, (found, markup?: string) =>
    markup === undefined ? `${found}&#8203;` : `&#${markup.charCodeAt(0)};`,
  )
}
