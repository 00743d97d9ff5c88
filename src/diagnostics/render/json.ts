import type { Diagnostic } from '../diagnostic.ts'
import { arrange, type CheckReport, displayPath, summarize } from './report.ts'

export interface Tool {
  readonly name: string
  readonly version: string
}

/** The report as one object; `version` is incremented when a field is removed or changes its meaning. */
export function renderJson(report: CheckReport, tool: Tool): string {
  const diagnostics = arrange(report.diagnostics)
  const whole = {
    version: 1,
    tool,
    summary: summarize(report, diagnostics),
    diagnostics: diagnostics.map(d => diagnosticJson(d, report.cwd)),
    suppressed: (report.suppressed ?? []).map(({ diagnostic, kind, reason }) => ({
      kind,
      reason,
      diagnostic: diagnosticJson(diagnostic, report.cwd),
    })),
    fixed: (report.fixed ?? []).map(fixed => ({ ...fixed, file: displayPath(fixed.file, report.cwd) })),
    skipped: report.skipped.map(skipped => ({ ...skipped, file: displayPath(skipped.file, report.cwd) })),
  }
  return `${printableJson(JSON.stringify(whole, null, 2))}\n`
}

/** A diagnostic for machines: relative paths, numbers as numbers. */
export function diagnosticJson(d: Diagnostic, cwd: string): Record<string, unknown> {
  const file = (path: string): string => displayPath(path, cwd)
  return {
    code: d.code,
    severity: d.severity,
    message: d.message,
    file: file(d.file),
    range: d.range,
    path: d.path,
    ...(d.document && { document: d.document }),
    ...(d.template !== undefined && { template: d.template }),
    ...(d.resource !== undefined && { resource: d.resource }),
    ...(d.label !== undefined && { label: d.label }),
    ...(d.help !== undefined && { help: d.help }),
    ...(d.note !== undefined && { note: d.note }),
    related: d.related.map(place => ({ message: place.message, file: file(place.file), range: place.range })),
    ...(d.fix && { fix: { ...d.fix, edits: d.fix.edits.map(edit => ({ ...edit, file: file(edit.file) })) } }),
    docs: `gwctl explain ${d.code}`,
  }
}

/**
 * JSON leaves some control and reordering characters raw; escaped, they are equivalent and cannot affect a terminal.
 */
export function printableJson(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
