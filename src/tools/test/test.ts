import { createPatternCompiler } from '../../cel/pattern.ts'
import { Failure } from '../../diagnostics/failure.ts'
import type { Paint } from '../../diagnostics/paint.ts'
import type { Tool } from '../../diagnostics/render/json.ts'
import { type Coverage, coverageOf, percentOf } from './coverage.ts'
import { rounded } from './coverage-report.ts'
import { findTests } from './find-tests.ts'
import type { CoverageFormat, TestFormat } from './formats.ts'
import { printReport } from './print-report.ts'
import { countsOf, type TestReport } from './report.ts'
import { runTests, type TestOptions } from './run-tests.ts'
import type { SnapshotCounts } from './snapshot/snapshot-file.ts'

interface TestTarget<Format> {
  readonly format: Format
  /** Undefined: stdout. */
  readonly path?: string
}

export interface TestCommand extends Omit<TestOptions, 'filter'> {
  readonly filter?: string
  readonly outputs: readonly TestTarget<TestFormat>[]
  readonly coverage: readonly TestTarget<CoverageFormat>[]
  /** Minimum percentage of the parts of all configurations that tests must reach. */
  readonly failUnder?: number
  readonly paint: Paint
  /** Colours for stderr. */
  readonly notePaint: Paint
  readonly verbose: boolean
  readonly tool: Tool
}

/** The command's output. */
export interface TestPrinter {
  deliver(text: string, target: { readonly path?: string }): Promise<void>
  /** Prints notes to stderr. */
  note(text: string): void
}

/** `broken`: a test file is invalid; everything else has run nevertheless. */
type TestOutcome = 'passed' | 'failed' | 'broken'

/** Finds, runs and reports. Throws a Failure if there is nothing to run. */
export async function test(paths: readonly string[], command: TestCommand, to: TestPrinter): Promise<TestOutcome> {
  const inputs = findTests(paths, command)
  const { filter, ...options } = command
  const started = performance.now()
  const chosen = filter === undefined ? {} : { filter: patternOf(filter) }
  const files = await runTests(inputs, { ...options, ...chosen })
  const report: TestReport = { files, cwd: command.cwd, duration: performance.now() - started }
  const counts = countsOf(report)
  if (counts.passed + counts.failed + counts.skipped + counts.broken === 0) throw nothing(command, inputs.length)
  const wanted = command.coverage.length > 0 || command.failUnder !== undefined
  const coverage = wanted ? coverageOf(files) : undefined
  await printReport(report, coverage, command, to)
  for (const { snapshots } of files) if (snapshots) printSnapshotCounts(snapshots, to)
  if (counts.broken > 0) return 'broken'
  return counts.failed > 0 || isTooLittle(coverage, command, to) ? 'failed' : 'passed'
}

function printSnapshotCounts({ file, added, changed, removed, unasked }: SnapshotCounts, to: TestPrinter): void {
  const done = Object.entries({ added, changed, removed }).filter(([, count]) => count > 0)
  if (done.length > 0) to.note(`Wrote ${file}: ${done.map(([what, count]) => `${count} ${what}`).join(', ')}.`)
  if (unasked > 0) {
    const what = unasked === 1 ? 'a snapshot that no case asks' : `${unasked} snapshots that no case asks`
    to.note(`${file} holds ${what} for: gwctl test --update removes what is not needed.`)
  }
}

function patternOf(source: string) {
  const compiled = createPatternCompiler().compile(source, false)
  if (!('problem' in compiled)) return compiled
  throw new Failure('usage', `--filter ${source} is not a pattern: ${compiled.problem.message}.`)
}

function nothing({ filter, shard }: TestCommand, files: number): Failure {
  const where = `${files} test file${files === 1 ? '' : 's'}`
  if (filter !== undefined) {
    return new Failure('input', `no case of ${where} has a name that matches ${filter}.`, {
      help: 'Leave --filter out to see all of them with -v.',
    })
  }
  return new Failure(
    'input',
    `${where} ${files === 1 ? 'leaves' : 'leave'} nothing for shard ${shard?.index} of ${shard?.of}.`,
  )
}

function isTooLittle(coverage: Coverage | undefined, { failUnder }: TestCommand, to: TestPrinter): boolean {
  if (coverage === undefined || failUnder === undefined || percentOf(coverage) >= failUnder) return false
  to.note(`coverage of ${rounded(percentOf(coverage))} % is less than the ${failUnder} % of --fail-under`)
  return true
}
