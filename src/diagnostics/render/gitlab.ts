import type { Severity } from '../diagnostic.ts'
import { fingerprints } from './identity.ts'
import { printableJson } from './json.ts'
import { arrange, type CheckReport, displayPath } from './report.ts'

const SEVERITY: Readonly<Record<Severity, string>> = { error: 'major', warning: 'minor', info: 'info' }

/** A code quality report: https://docs.gitlab.com/ci/testing/code_quality/ */
export function renderGitlab(report: CheckReport): string {
  const all = arrange(report.diagnostics)
  const prints = fingerprints(all, report.cwd)
  const issues = all.map((d, i) => ({
    description: d.help === undefined ? d.message : `${d.message} (${d.help})`,
    check_name: d.code,
    fingerprint: prints[i],
    severity: SEVERITY[d.severity],
    location: {
      path: displayPath(d.file, report.cwd),
      lines: { begin: d.range.start.line, end: d.range.end.line },
    },
  }))
  return `${printableJson(JSON.stringify(issues, null, 2))}\n`
}
