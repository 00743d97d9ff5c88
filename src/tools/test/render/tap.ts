import { displayPath } from '../../../diagnostics/render/report.ts'
import { visible } from '../../../diagnostics/visible.ts'
import { plainLines, type TestReport, wordsOf } from '../report.ts'
import type { RunCase } from '../run-tests.ts'

/** TAP version 14. */
export function renderTap({ files, cwd }: TestReport): string {
  const lines: string[] = []
  let number = 0
  for (const { file, cases, broken } of files) {
    const name = displayPath(file, cwd)
    if (broken) lines.push(`not ok ${++number} - ${escaped(name)}: nothing of it ran`)
    for (const each of cases) lines.push(...caseLines(each, ++number, name, cwd))
  }
  return ['TAP version 14', `1..${number}`, ...lines].map(line => `${line}\n`).join('')
}

function caseLines(run: RunCase, number: number, file: string, cwd: string): string[] {
  const skipped = run.state === 'skipped' ? ` # SKIP ${escaped(run.reason ?? '')}` : ''
  const head = `${run.state === 'failed' ? 'not ok' : 'ok'} ${number} - ${escaped(`${file}: ${run.name}`)}${skipped}`
  if (run.state !== 'failed') return [head]
  const details =
    run.wrong.length > 0 ? run.wrong.flatMap(wrong => plainLines(wordsOf(wrong, cwd))) : [run.reason ?? '']
  return [
    head,
    '  ---',
    `  at: ${JSON.stringify(`${file}:${run.origin.line}`)}`,
    '  failures:',
    ...details.map(line => `    - ${JSON.stringify(visible(line))}`),
    '  ...',
  ]
}

/** `#` begins a directive. */
function escaped(text: string): string {
  return visible(text).replaceAll('\\', '\\\\').replaceAll('#', '\\#')
}
