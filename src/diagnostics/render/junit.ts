import type { Diagnostic } from '../diagnostic.ts'
import { arrange, type CheckReport, displayPath } from './report.ts'
import { xml } from './xml.ts'

/**
 * One suite per file, one case per document; an error fails its case, the rest is in its output. Only elements and
 * attributes of Jenkins' schemas are used; locations are part of the texts.
 */
export function renderJunit(report: CheckReport): string {
  const all = arrange(report.diagnostics)
  const checked = report.checked ?? []
  const files = [...new Set([...checked.map(({ file }) => file), ...all.map(d => d.file)])]
  const suites = files.map(file => {
    const documents = Math.max(1, checked.find(each => each.file === file)?.documents ?? 1)
    return suite(
      displayPath(file, report.cwd),
      documents,
      all.filter(d => d.file === file),
    )
  })
  const cases = suites.reduce((sum, { tests }) => sum + tests, 0)
  const failures = suites.reduce((sum, { failed }) => sum + failed, 0)
  const body = suites.map(({ text }) => text).join('')
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="gwctl validate" tests="${cases}" failures="${failures}" errors="0" time="0">\n${body}</testsuites>\n`
}

function suite(file: string, documents: number, found: readonly Diagnostic[]) {
  const numbers = new Set([...Array(documents).keys()].map(i => i + 1))
  for (const d of found) numbers.add(d.document?.index ?? 1)
  const cases = [...numbers]
    .sort((a, b) => a - b)
    .map(number => {
      const own = found.filter(d => (d.document?.index ?? 1) === number)
      return testcase(file, numbers.size > 1 ? `document ${number}` : file, own)
    })
  const failed = cases.filter(each => each.failed).length
  const text = cases.map(each => each.text).join('')
  return {
    tests: cases.length,
    failed,
    text: `  <testsuite name="${xml(file)}" tests="${cases.length}" failures="${failed}" errors="0" skipped="0" time="0">\n${text}  </testsuite>\n`,
  }
}

function testcase(file: string, name: string, found: readonly Diagnostic[]) {
  const errors = found.filter(d => d.severity === 'error')
  const others = found.filter(d => d.severity !== 'error')
  const failures = errors.map(
    d =>
      `      <failure type="${d.code}" message="${xml(d.message)}">${xml(`${file}:${d.range.start.line}:${d.range.start.col}: ${d.code} ${d.message}`)}${d.help === undefined ? '' : xml(`\n${d.help}`)}</failure>\n`,
  )
  const output = others.map(
    d => `${file}:${d.range.start.line}:${d.range.start.col}: ${d.severity} ${d.code} ${d.message}`,
  )
  const system = output.length === 0 ? '' : `      <system-out>${xml(output.join('\n'))}</system-out>\n`
  const content = failures.join('') + system
  const head = `    <testcase name="${xml(name)}" classname="${xml(file)}" time="0"`
  return { failed: errors.length > 0, text: content === '' ? `${head}/>\n` : `${head}>\n${content}    </testcase>\n` }
}
