import { displayPath } from '../../../diagnostics/render/report.ts'
import { xml } from '../../../diagnostics/render/xml.ts'
import { plainLines, type TestReport, wordsOf } from '../report.ts'
import type { RunCase, RunFile } from '../run-tests.ts'

/** One suite per file, one case per test case; a file that cannot run is an error. */
export function renderJunit(report: TestReport): string {
  const suites = report.files.map(file => suite(file, report.cwd))
  const attributes = sum(suites.map(({ counts }) => counts))
  const body = suites.map(({ text }) => text).join('')
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="gwctl test" ${counted(attributes)} time="${seconds(report.duration)}">\n${body}</testsuites>\n`
}

interface Counts {
  readonly tests: number
  readonly failures: number
  readonly errors: number
  readonly skipped: number
}

function suite(run: RunFile, cwd: string) {
  const file = xml(displayPath(run.file, cwd))
  const counts: Counts = {
    tests: run.cases.length + (run.broken ? 1 : 0),
    failures: run.cases.filter(({ state }) => state === 'failed').length,
    errors: run.broken ? 1 : 0,
    skipped: run.cases.filter(({ state }) => state === 'skipped').length,
  }
  const time = seconds(run.cases.reduce((total, { duration }) => total + duration, 0))
  const cases = run.cases.map(each => testcase(each, file, cwd)).join('')
  const text = `  <testsuite name="${file}" ${counted(counts)} skipped="${counts.skipped}" time="${time}">\n${brokenCase(run, file)}${cases}  </testsuite>\n`
  return { counts, text }
}

function brokenCase({ broken, diagnostics }: RunFile, file: string): string {
  if (!broken) return ''
  const lines = diagnostics.map(d => `${d.range.start.line}:${d.range.start.col}: ${d.code} ${d.message}`)
  const [first = ''] = lines
  return `    <testcase name="${file}" classname="${file}" time="0">\n      <error message="${xml(first)}">${xml(lines.join('\n'))}</error>\n    </testcase>\n`
}

function testcase(run: RunCase, file: string, cwd: string): string {
  const head = `    <testcase name="${xml(run.name)}" classname="${file}" time="${seconds(run.duration)}"`
  if (run.state === 'passed') return `${head}/>\n`
  if (run.state === 'skipped') return `${head}>\n      <skipped>${xml(run.reason ?? '')}</skipped>\n    </testcase>\n`
  const lines = run.wrong.flatMap(wrong => plainLines(wordsOf(wrong, cwd)))
  const [first = run.reason ?? ''] = lines
  const place = `${displayPath(run.origin.file, cwd)}:${run.origin.line}`
  return `${head}>\n      <failure message="${xml(first)}">${xml([`${place}:`, ...(lines.length > 0 ? lines : [first])].join('\n'))}</failure>\n    </testcase>\n`
}

function sum(all: readonly Counts[]): Counts {
  const total = (name: keyof Counts) => all.reduce((count, each) => count + each[name], 0)
  return { tests: total('tests'), failures: total('failures'), errors: total('errors'), skipped: total('skipped') }
}

function counted({ tests, failures, errors }: Counts): string {
  return `tests="${tests}" failures="${failures}" errors="${errors}"`
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3)
}
