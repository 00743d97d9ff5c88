import type { Paint } from '../paint.ts'
import { visible } from '../visible.ts'
import { arrange, type CheckReport, displayPath, summarize } from './report.ts'
import { hiddenLine, limit, summaryLine } from './text.ts'

/** One line per finding, as problem matchers expect: `file:line:col: severity CODE message`. */
export function renderConcise(report: CheckReport, options: { paint: Paint; maxProblems?: number }): string {
  const all = arrange(report.diagnostics)
  const shown = limit(all, options.maxProblems)
  const lines = shown.map(d => {
    const { line, col } = d.range.start
    const at = `${visible(displayPath(d.file, report.cwd))}:${line}:${col}`
    return `${at}: ${options.paint[d.severity](d.severity)} ${d.code} ${visible(d.message)}`
  })
  if (shown.length < all.length) lines.push(hiddenLine(all.length - shown.length))
  lines.push(summaryLine(summarize(report, all), report.skipped.length, options.paint))
  return `${lines.join('\n')}\n`
}
