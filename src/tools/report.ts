import type { Severity } from '../diagnostics/diagnostic.ts'
import type { Paint } from '../diagnostics/paint.ts'
import { renderConcise } from '../diagnostics/render/concise.ts'
import { renderJson } from '../diagnostics/render/json.ts'
import { renderNdjson } from '../diagnostics/render/ndjson.ts'
import type { CheckReport } from '../diagnostics/render/report.ts'
import { renderText } from '../diagnostics/render/text.ts'

export type ReportFormat = 'text' | 'concise' | 'json' | 'ndjson'

const RANK: Readonly<Record<Severity, number>> = { error: 2, warning: 1, info: 0 }

export function renderReport(
  report: CheckReport,
  format: ReportFormat,
  text: {
    readonly paint: Paint
    readonly maxProblems: number
    readonly tool: { readonly name: string; readonly version: string }
  },
): string {
  switch (format) {
    case 'text':
      return renderText(report, text)
    case 'concise':
      return renderConcise(report, text)
    case 'json':
      return renderJson(report, text.tool)
    case 'ndjson':
      return renderNdjson(report)
  }
}

/** Whether the report has a finding of at least this severity; the format plays no part in it. */
export function exceeds(report: CheckReport, failOn: Severity | 'never'): boolean {
  return failOn !== 'never' && report.diagnostics.some(d => RANK[d.severity] >= RANK[failOn])
}
