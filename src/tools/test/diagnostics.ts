import type { CheckReport } from '../../diagnostics/render/report.ts'
import type { TestReport } from './report.ts'

/** The mistakes in test files and configurations, as `validate` reports them. */
export function diagnosticsOf({ files, cwd }: TestReport): CheckReport {
  const wrong = files.filter(({ diagnostics }) => diagnostics.length > 0)
  const texts = new Map(wrong.flatMap(file => file.texts.map(({ file: name, text }) => [name, text])))
  const diagnostics = wrong.flatMap(file => file.diagnostics)
  const found = new Set(diagnostics.map(({ file }) => file))
  return {
    diagnostics,
    files: found.size,
    documents: found.size,
    skipped: [],
    textOf: file => texts.get(file),
    cwd,
  }
}
