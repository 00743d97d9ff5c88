import { diagnosticJson, printableJson, type Tool } from '../../../diagnostics/render/json.ts'
import { displayPath } from '../../../diagnostics/render/report.ts'
import type { Coverage } from '../coverage.ts'
import { coverageJson } from '../coverage-report.ts'
import { countsOf, type TestReport, wordsOf } from '../report.ts'

/** A single object; `version` is increased when a field is removed or changes its meaning. */
export function renderJson(report: TestReport, tool: Tool, coverage: Coverage | undefined): string {
  const { files, cwd, duration } = report
  const whole = {
    version: 1,
    tool,
    summary: { ...countsOf(report), durationMs: Math.round(duration) },
    files: files.map(run => ({
      file: displayPath(run.file, cwd),
      broken: run.broken,
      diagnostics: run.diagnostics.map(d => diagnosticJson(d, cwd)),
      cases: run.cases.map(({ name, origin, state, reason, wrong, duration: taken }) => ({
        name,
        line: origin.line,
        state,
        ...(reason === undefined ? {} : { reason }),
        durationMs: Math.round(taken * 1000) / 1000,
        failures: wrong.map(each => {
          const { fields, decision } = wordsOf(each, cwd)
          return { step: each.step, repetition: each.repetition, fields, decidedBy: decision }
        }),
      })),
    })),
    ...(coverage === undefined ? {} : { coverage: coverageJson(coverage, cwd) }),
  }
  return `${printableJson(JSON.stringify(whole, null, 2))}\n`
}
