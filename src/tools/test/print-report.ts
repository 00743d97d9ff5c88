import { textConcealer } from '../../cluster/conceal-text.ts'
import { plainPaint } from '../../diagnostics/paint.ts'
import { renderText as renderDiagnostics } from '../../diagnostics/render/text.ts'
import { type InputText, isTestFile } from '../input/input-files.ts'
import type { Coverage } from './coverage.ts'
import { coverageJson, coverageLcov, coverageText } from './coverage-report.ts'
import { diagnosticsOf } from './diagnostics.ts'
import type { CoverageFormat, TestFormat } from './formats.ts'
import type { TestReport } from './report.ts'
import type { TestCommand, TestPrinter } from './test.ts'

/** Prints mistakes in files, the requested reports, then the coverage. */
export async function printReport(
  report: TestReport,
  coverage: Coverage | undefined,
  command: TestCommand,
  to: TestPrinter,
): Promise<void> {
  const shown = hasFindings(report) ? await shownReport(report) : report
  await printMistakes(shown, command, to)
  // A file that cannot be written must not hide the test results.
  for (const target of command.outputs.toSorted(
    (a, b) => Number(a.path !== undefined) - Number(b.path !== undefined),
  )) {
    await to.deliver(await rendered(shown, coverage, target.format, command), target)
  }
  if (command.env.GITHUB_ACTIONS === 'true' && !command.outputs.some(({ format }) => format === 'github')) {
    to.note((await rendered(shown, coverage, 'github', command)).trimEnd())
  }
  if (coverage !== undefined) await printCoverage(report, coverage, command, to)
}

/** Whether lines of the configurations are shown. */
function hasFindings({ files }: TestReport): boolean {
  return files.some(({ diagnostics, cases }) => diagnostics.length > 0 || cases.some(({ state }) => state === 'failed'))
}

/** The report with the texts of the configurations redacted. */
async function shownReport(report: TestReport): Promise<TestReport> {
  const conceal = await textConcealer({ resources: true })
  const shown = ({ file, text }: InputText) => ({ file, text: isTestFile(file) ? text : conceal(file, text) })
  return { ...report, files: report.files.map(file => ({ ...file, texts: file.texts.map(shown) })) }
}

async function printMistakes(report: TestReport, command: TestCommand, to: TestPrinter): Promise<void> {
  const mistakes = diagnosticsOf(report)
  if (mistakes.diagnostics.length === 0) return
  if (isForPeople(command)) await to.deliver(`${renderDiagnostics(mistakes, { paint: command.paint })}\n`, {})
  else to.note(renderDiagnostics(mistakes, { paint: command.notePaint }).trimEnd())
}

/** Otherwise stdout carries a report for machines. */
function isForPeople({ outputs }: TestCommand): boolean {
  return outputs.some(({ format, path }) => format === 'text' && path === undefined)
}

async function rendered(
  report: TestReport,
  coverage: Coverage | undefined,
  format: TestFormat,
  command: TestCommand,
): Promise<string> {
  switch (format) {
    case 'text':
      return (await import('./render/text.ts')).renderText(report, command)
    case 'tap':
      return (await import('./render/tap.ts')).renderTap(report)
    case 'json':
      return (await import('./render/json.ts')).renderJson(report, command.tool, coverage)
    case 'junit':
      return (await import('./render/junit.ts')).renderJunit(report)
    case 'github':
      return (await import('./render/github.ts')).renderGithub(report)
  }
}

async function printCoverage(
  report: TestReport,
  coverage: Coverage,
  command: TestCommand,
  to: TestPrinter,
): Promise<void> {
  for (const { format, path } of command.coverage) {
    if (path !== undefined) {
      await to.deliver(coverageIn(format, report, coverage, command), { path })
      to.note(`Wrote ${path}.`)
    } else if (isForPeople(command)) await to.deliver(`\n${coverageText(coverage, command.cwd, command.paint)}`, {})
    else to.note(coverageText(coverage, command.cwd, command.notePaint).trimEnd())
  }
}

function coverageIn(format: CoverageFormat, { files }: TestReport, coverage: Coverage, command: TestCommand): string {
  const { cwd } = command
  if (format === 'json') return `${JSON.stringify(coverageJson(coverage, cwd), null, 2)}\n`
  if (format === 'text') return coverageText(coverage, cwd, plainPaint)
  const texts = new Map(files.flatMap(file => file.texts.map(({ file: name, text }) => [name, text])))
  return coverageLcov(coverage, name => texts.get(name), cwd)
}
