import type { Severity } from '../../diagnostics/diagnostic.ts'
import type { Paint } from '../../diagnostics/paint.ts'
import type { CheckReport } from '../../diagnostics/render/report.ts'

export const REPORT_FORMATS = [
  'text',
  'concise',
  'json',
  'ndjson',
  'sarif',
  'junit',
  'github',
  'gitlab',
  'checkstyle',
  'rdjson',
] as const
export type ReportFormat = (typeof REPORT_FORMATS)[number]

/** Formats for people, which support colours and brevity. */
export function isForPeople(format: ReportFormat): boolean {
  return format === 'text' || format === 'concise'
}

const RANK: Readonly<Record<Severity, number>> = { error: 2, warning: 1, info: 0 }

export interface RenderOptions {
  readonly paint: Paint
  readonly maxProblems: number
  readonly tool: { readonly name: string; readonly version: string }
}

/** Each renderer is loaded on demand. */
export async function renderReport(report: CheckReport, format: ReportFormat, options: RenderOptions): Promise<string> {
  switch (format) {
    case 'text':
      return (await import('../../diagnostics/render/text.ts')).renderText(report, options)
    case 'concise':
      return (await import('../../diagnostics/render/concise.ts')).renderConcise(report, options)
    case 'json':
      return (await import('../../diagnostics/render/json.ts')).renderJson(report, options.tool)
    case 'ndjson':
      return (await import('../../diagnostics/render/ndjson.ts')).renderNdjson(report)
    case 'sarif':
      return (await import('../../diagnostics/render/sarif.ts')).renderSarif(report, options.tool)
    case 'junit':
      return (await import('../../diagnostics/render/junit.ts')).renderJunit(report)
    case 'github':
      return (await import('../../diagnostics/render/github.ts')).renderGithub(report)
    case 'gitlab':
      return (await import('../../diagnostics/render/gitlab.ts')).renderGitlab(report)
    case 'checkstyle':
      return (await import('../../diagnostics/render/checkstyle.ts')).renderCheckstyle(report)
    case 'rdjson':
      return (await import('../../diagnostics/render/rdjson.ts')).renderRdjson(report, options.tool)
  }
}

/** The report without findings below `least`. */
export function atLeast(report: CheckReport, least: Severity): CheckReport {
  return { ...report, diagnostics: report.diagnostics.filter(d => RANK[d.severity] >= RANK[least]) }
}

/** Whether the report has a finding of at least this severity, in whatever format. */
export function exceeds(report: CheckReport, failOn: Severity | 'never'): boolean {
  return failOn !== 'never' && report.diagnostics.some(d => RANK[d.severity] >= RANK[failOn])
}
