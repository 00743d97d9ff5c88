import { renderGithub as renderDiagnostics, workflowCommand } from '../../../diagnostics/render/github.ts'
import { displayPath } from '../../../diagnostics/render/report.ts'
import { diagnosticsOf } from '../diagnostics.ts'
import { plainLines, type TestReport, wordsOf } from '../report.ts'

/** Workflow commands: an annotation for each failed case, and for each mistake in a file. */
export function renderGithub(report: TestReport): string {
  const { files, cwd } = report
  const lines = files.flatMap(({ file, cases }) =>
    cases
      .filter(({ state }) => state === 'failed')
      .map(run => {
        const properties = { file: displayPath(file, cwd), line: run.origin.line, title: run.name }
        const words = run.wrong.flatMap(wrong => plainLines(wordsOf(wrong, cwd)))
        return workflowCommand('error', properties, words.length > 0 ? words.join('\n') : (run.reason ?? ''))
      }),
  )
  return renderDiagnostics(diagnosticsOf(report)) + lines.map(line => `${line}\n`).join('')
}
