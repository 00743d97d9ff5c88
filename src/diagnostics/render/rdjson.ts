import type { Range, Severity } from '../diagnostic.ts'
import { printableJson, type Tool } from './json.ts'
import { arrange, type CheckReport, displayPath } from './report.ts'

const SEVERITY: Readonly<Record<Severity, string>> = { error: 'ERROR', warning: 'WARNING', info: 'INFO' }

/** Reviewdog Diagnostic Format. Its columns count UTF-8 bytes from 1. */
export function renderRdjson(report: CheckReport, tool: Tool): string {
  const bytes = (file: string, range: Range) => byteRange(range, report.textOf(file))
  const whole = {
    source: { name: tool.name },
    severity: 'ERROR',
    diagnostics: arrange(report.diagnostics).map(d => ({
      message: d.help === undefined ? d.message : `${d.message}\n${d.help}`,
      location: { path: displayPath(d.file, report.cwd), range: bytes(d.file, d.range) },
      severity: SEVERITY[d.severity],
      code: { value: d.code },
      ...(d.fix && {
        suggestions: d.fix.edits
          .filter(edit => edit.file === d.file)
          .map(edit => ({ range: bytes(edit.file, edit.range), text: edit.text })),
      }),
      ...(d.related.length > 0 && {
        relatedLocations: d.related.map(place => ({
          message: place.message,
          location: { path: displayPath(place.file, report.cwd), range: bytes(place.file, place.range) },
        })),
      }),
    })),
  }
  return `${printableJson(JSON.stringify(whole, null, 2))}\n`
}

function byteRange({ start, end }: Range, text: string | undefined) {
  const column = (at: Range['start']): number =>
    text === undefined ? at.col : Buffer.byteLength(text.slice(at.offset - (at.col - 1), at.offset)) + 1
  return { start: { line: start.line, column: column(start) }, end: { line: end.line, column: column(end) } }
}
