import { diagnosticJson, printableJson } from './json.ts'
import { arrange, type CheckReport } from './report.ts'

/** One JSON object per line and finding. */
export function renderNdjson(report: CheckReport): string {
  return arrange(report.diagnostics)
    .map(d => `${printableJson(JSON.stringify(diagnosticJson(d, report.cwd)))}\n`)
    .join('')
}
