import type { Diagnostic, Finding, Origin } from '../../diagnostics/diagnostic.ts'
import { parseSource } from '../../diagnostics/source.ts'
import { decode, INVALID } from '../../schema/decode.ts'
import { looksLikeOurs } from '../check/recognize.ts'
import { type InputText, isTestFile } from '../input/input-files.ts'
import { parseFieldPath } from '../test-file/field-path.ts'
import { isRecord } from '../test-file/matcher.ts'
import { type TestFile, testFile } from '../test-file/test-file.ts'
import { unknownPolicy } from './known-names.ts'

/** A runnable file of test cases. */
export interface ReadTestFile {
  readonly file: string
  readonly content: TestFile
  /** The location of each case. */
  readonly origins: readonly Origin[]
  /** A mistake found at run time, at a field of the file. */
  finding(finding: Finding): Diagnostic
}

/** The diagnostics of a test file; without errors it can run. */
interface TestFileReading {
  readonly read: ReadTestFile | undefined
  readonly diagnostics: readonly Diagnostic[]
}

export function readTestFile({ file, text }: InputText): TestFileReading {
  const source = parseSource(file, text)
  const [document, ...more] = source.documents
  // Only gwctl reads this file, so `off` is never taken for a boolean.
  const diagnostics = source.diagnostics
    .filter(({ code }) => code !== 'GW005' && code !== 'GW006')
    .map(diagnostic => withHelp(diagnostic, text))
  if (document === undefined || document.broken) return { read: undefined, diagnostics }
  const report = (finding: Finding) => void diagnostics.push(asTest(document.resolve(finding)))
  for (const extra of more.filter(each => !each.empty)) {
    const message = 'a test file is one document'
    diagnostics.push(extra.resolve({ code: 'GW008', message, path: [], at: 'value', label: 'starts here' }))
  }
  if (!isTestFile(file) && !Object.hasOwn(Object(document.value), 'cases') && looksLikeOurs(text)) {
    report(NO_TESTS)
    return { read: undefined, diagnostics }
  }
  const context = { report, paths: new WeakMap(), cel: undefined, patterns: undefined, missing: new Set<never>() }
  const content = decode(testFile, document.empty ? {} : document.value, [], context)
  if (content !== INVALID) {
    reportTwins(content, report)
    reportUnknownPolicies(content, report)
  }
  const sound = diagnostics.every(({ severity }) => severity !== 'error')
  if (content === INVALID || !sound) return { read: undefined, diagnostics }
  return {
    read: {
      file,
      content,
      origins: content.cases.map((_, i) => document.origin(['cases', i])),
      finding: finding => document.resolve(finding),
    },
    diagnostics,
  }
}

const NO_TESTS: Finding = {
  code: 'GW103',
  message: 'this is a configuration, and holds no test cases',
  path: [],
  at: 'value',
  help: 'name a file with `cases`, or write one: docs/test.md. `--config PATH` says which configuration it is about',
}

/** Field paths contain brackets, which YAML reads as a list in flow maps. */
function withHelp(diagnostic: Diagnostic, text: string): Diagnostic {
  const { code, range } = diagnostic
  const line = text.split('\n')[range.start.line - 1] ?? ''
  if (code !== 'GW001' || !/\{.*\w\[\d+\]/.test(line)) return diagnostic
  return { ...diagnostic, help: 'between braces quote a path with brackets, or write it like `json.list.0.name`' }
}

/** No command applies fixes to tests. */
function asTest({ fix: _, ...diagnostic }: Diagnostic): Diagnostic {
  return diagnostic
}

/** Reports identify cases by name. */
function reportTwins({ cases }: TestFile, report: (finding: Finding) => void): void {
  const first = new Map<string, number>()
  for (const [i, { name }] of cases.entries()) {
    const before = first.get(name)
    if (before === undefined) first.set(name, i)
    else {
      report({
        code: 'GW203',
        message: `two cases are called \`${name}\``,
        path: ['cases', i, 'name'],
        at: 'value',
        related: [{ path: ['cases', before, 'name'], at: 'value', message: 'first used here' }],
      })
    }
  }
}

/** An unknown policy never has an effect, which may be what the test expects. */
function reportUnknownPolicies({ cases }: TestFile, report: (finding: Finding) => void): void {
  for (const [i, { expect, steps }] of cases.entries()) {
    const all = steps ? steps.map((step, j) => [step.expect, ['steps', j]] as const) : [[expect, []] as const]
    for (const [fields, at] of all) {
      for (const { name, path } of policiesIn(fields)) {
        const problem = unknownPolicy(name)
        if (problem) report({ code: 'GW102', ...problem, path: ['cases', i, ...at, 'expect', ...path], at: 'key' })
      }
    }
  }
}

function policiesIn(expect: object = {}): { readonly name: string; readonly path: readonly string[] }[] {
  return Object.entries(expect).flatMap(([field, value]) => {
    const [head, name] = parseFieldPath(field) ?? []
    if (head !== 'policy') return []
    if (name !== undefined) return [{ name: String(name), path: [field] }]
    return isRecord(value) ? Object.keys(value).map(each => ({ name: each, path: [field, each] })) : []
  })
}
