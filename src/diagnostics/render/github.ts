import type { Diagnostic, Severity } from '../diagnostic.ts'
import { plainPaint } from '../paint.ts'
import { visible } from '../visible.ts'
import { arrange, type CheckReport, displayPath, summarize } from './report.ts'
import { summaryLine } from './text.ts'

const COMMAND: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'notice' }
const RANK: readonly Severity[] = ['error', 'warning', 'info']
/** GitHub shows this many annotations of each kind per step and drops the rest. */
const SHOWN = 10

/** Workflow commands: the first findings of each severity as annotations, the rest in a log group. */
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
  // GitHub rejects columns for a multi-line range.
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

/** A line that the runner turns into an annotation, whatever its texts contain. */
export function workflowCommand(
  name: string,
  properties: Readonly<Record<string, string | number>>,
  message: string,
): string {
  const text = Object.entries(properties).map(([key, value]) => `${key}=${property(String(value))}`)
  return `::${name} ${text.join(',')}::${data(message)}`
}

/** The runner recognizes `##[command]` anywhere in a line. */
function inert(text: string): string {
  return visible(text).replaceAll('##[', '# #[')
}

/** The runner decodes exactly these; other control characters do not belong in a log. */
function data(text: string): string {
  return text.split('\n').map(inert).join('\n').replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

/** The file name never starts the line, where two colons would make it a command. */
function logLine(d: Diagnostic, cwd: string): string {
  const place = `${inert(displayPath(d.file, cwd))}:${d.range.start.line}:${d.range.start.col}`
  return `- ${place}: ${d.severity} ${d.code} ${inert(d.message)}`
}

/** Maximum table rows that fit a job's page. */
const MAX_ROWS = 200

/** Markdown for the file named by `GITHUB_STEP_SUMMARY`. */
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

/** Characters that start or end Markdown, HTML, math or a cell, and those that turn a URL into a link. */
const MARKUP = String.raw`[\\\x60*[\]<>&~$|]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=\bwww)\.`
/** `@name`, `#1`, `GH-1`, `:name:`: GitHub looks for these in the rendered page, where entities are already decoded. */
const REFERENCE = String.raw`@(?=\w)|#(?=\d)|\bGH-(?=\d)|:(?=[\w+-]+:)`
const ACTIVE = new RegExp(`(${MARKUP})|${REFERENCE}`, 'gi')

/** Plain text for a table cell: Markdown, HTML and mentions in it have no effect. */
export function markdownText(text: string): string {
  return visible(text).replace(ACTIVE, (found, markup?: string) =>
    markup === undefined ? `${found}&#8203;` : `&#${markup.charCodeAt(0)};`,
  )
}
