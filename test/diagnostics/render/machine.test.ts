import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import type { Diagnostic } from '../../../src/diagnostics/diagnostic.ts'
import { renderCheckstyle } from '../../../src/diagnostics/render/checkstyle.ts'
import { markdownText, renderGithub, renderGithubSummary } from '../../../src/diagnostics/render/github.ts'
import { renderGitlab } from '../../../src/diagnostics/render/gitlab.ts'
import { renderJson } from '../../../src/diagnostics/render/json.ts'
import { renderJunit } from '../../../src/diagnostics/render/junit.ts'
import { renderRdjson } from '../../../src/diagnostics/render/rdjson.ts'
import type { CheckReport } from '../../../src/diagnostics/render/report.ts'
import { renderSarif } from '../../../src/diagnostics/render/sarif.ts'
import { parseSource } from '../../../src/diagnostics/source.ts'
import { parseXml } from './xml-tree.ts'

const tool = { name: 'gwctl', version: '1.2.3' }
const TEXT = `a: 日本 no\nport: 1\nport: 2\nhsot: x\n`
const source = parseSource('k8s/a b.yaml', TEXT)
const document = source.documents[0]!
const duplicate = source.diagnostics[0]!
const misspelt = document.resolve({
  code: 'GW102',
  message: 'unknown field `hsot`',
  path: ['hsot'],
  at: 'key',
  help: 'did you mean `host`?',
  fix: { title: 'rename it to `host`', safe: true, replace: 'key', with: 'host' },
})
const inner = document.resolve({ code: 'GW301', message: 'bad', path: ['a'], at: 'value', span: [3, 5] })
const note: Diagnostic = { ...inner, severity: 'info', code: 'GW601', resource: 'HTTPRoute default/chat' }

const HOSTILE = '\u001b[31m\u0007\u009b1m\u202e\r\n::error file=x::y,%0A<b a="\'&]]>|`[x](y)\u0000\ufffe\ud800##[group]'
const hostile: Diagnostic = {
  ...duplicate,
  message: HOSTILE,
  file: HOSTILE,
  resource: HOSTILE,
  path: HOSTILE,
  label: HOSTILE,
  help: HOSTILE,
  note: HOSTILE,
  related: [{ ...duplicate.related[0]!, message: HOSTILE, file: HOSTILE }],
  fix: { title: HOSTILE, safe: true, edits: [{ file: HOSTILE, range: duplicate.range, text: HOSTILE }] },
}

function report(diagnostics: readonly Diagnostic[], more: Partial<CheckReport> = {}): CheckReport {
  return {
    diagnostics,
    files: 1,
    documents: 1,
    skipped: [],
    textOf: file => (file === 'k8s/a b.yaml' ? TEXT : undefined),
    cwd: '/work dir',
    ...more,
  }
}

const all = report([duplicate, misspelt, inner, note], {
  suppressed: [{ diagnostic: misspelt, kind: 'external', reason: 'known to b.json' }],
  skipped: [{ file: 'x.yaml', document: 2, reason: 'not ours' }],
  fixed: [{ code: 'GW102', file: 'k8s/a b.yaml', line: 4, title: 'rename' }],
  checked: [{ file: 'k8s/a b.yaml', documents: 1 }],
})

/** Nothing that a terminal or a log would obey. */
function isPrintable(text: string): boolean {
  return [...text].every(char => {
    const code = char.codePointAt(0)!
    const control = (code < 0x20 && char !== '\n' && char !== '\t') || (code >= 0x7f && code < 0xa0)
    return !control && !/[\u200b\u202a-\u202e\u2066-\u2069\ufeff]/.test(char)
  })
}

describe('SARIF', () => {
  const {
    $schema: _,
    id: __,
    ...schema
  } = JSON.parse(readFileSync(new URL('../../../fixtures/cli/sarif-2.1.0-rtm.5.schema.json', import.meta.url), 'utf8'))
  const validate = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(schema)

  test.each<[string, CheckReport]>([
    ['findings of every kind', all],
    ['no findings', report([])],
    ['hostile text', report([hostile], { suppressed: [{ diagnostic: hostile, kind: 'inSource', reason: HOSTILE }] })],
  ])('matches the official schema: %s', (_name, given) => {
    const text = renderSarif(given, tool)
    expect(validate(JSON.parse(text)), JSON.stringify(validate.errors)).toBe(true)
    expect(isPrintable(text)).toBe(true)
  })

  test('the schema rejects invalid output', () => {
    const log = JSON.parse(renderSarif(all, tool))
    log.runs[0].results[0].locations[0].physicalLocation.region.startLine = 0
    expect(validate(log)).toBe(false)
  })

  test('rules have help, and results have full regions, related places, fixes and suppressions', () => {
    const [run] = JSON.parse(renderSarif(all, tool)).runs
    expect(run.tool.driver.rules.map((rule: { id: string }) => rule.id)).toEqual(['GW002', 'GW102', 'GW301', 'GW601'])
    for (const rule of run.tool.driver.rules) expect(rule.help.markdown).toContain(`gwctl explain ${rule.id}`)
    const results = (code: string) => run.results.filter(({ ruleId }: { ruleId: string }) => ruleId === code)
    expect(results('GW002')[0]).toMatchObject({
      level: 'error',
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: 'k8s/a%20b.yaml', uriBaseId: 'ROOT' },
            region: { startLine: 3, startColumn: 1, endLine: 3, endColumn: 5 },
          },
        },
      ],
      relatedLocations: [{ physicalLocation: { region: { startLine: 2 } }, message: { text: 'first set here' } }],
    })
    expect(results('GW601')[0].level).toBe('note')
    expect(results('GW102')[0].suppressions).toBeUndefined()
    expect(results('GW102')[0].fixes[0].artifactChanges[0].replacements[0]).toEqual({
      deletedRegion: { startLine: 4, startColumn: 1, endLine: 4, endColumn: 5 },
      insertedContent: { text: 'host' },
    })
    expect(results('GW102')[1].suppressions).toEqual([{ kind: 'external', justification: 'known to b.json' }])
    expect(run.columnKind).toBe('utf16CodeUnits')
  })

  test('a finding keeps its fingerprint when moved, and two of the same kind have different ones', () => {
    const prints = (found: readonly Diagnostic[]) =>
      JSON.parse(renderSarif(report(found), tool)).runs[0].results.map(
        (each: { partialFingerprints: Record<string, string> }) => each.partialFingerprints['gwctl/v1'],
      )
    const moved = parseSource('k8s/a b.yaml', `\n\n# more\n${TEXT}`).diagnostics
    expect(prints(moved)).toEqual(prints([duplicate]))
    const [first, second] = prints([inner, { ...inner, message: 'worse' }])
    expect(first).not.toBe(second)
    expect(prints([{ ...inner, file: 'other.yaml' }])[0]).not.toBe(first)
  })
})

describe('XML', () => {
  test.each([
    ['JUnit', renderJunit],
    ['Checkstyle', renderCheckstyle],
  ])('%s stays well formed for any text', (_name, render) => {
    const text = render(report([hostile, { ...hostile, severity: 'warning' }]))
    expect(isPrintable(text)).toBe(true)
    const seen = JSON.stringify(parseXml(text))
    expect(seen).toContain('<b a=')
    expect(seen).toContain('::error')
  })

  test('JUnit has a suite for each file, a case for each document, a failure for each error', () => {
    const two = { ...duplicate, document: { index: 2, of: 3 } }
    const root = parseXml(
      renderJunit(
        report([two, { ...note, document: { index: 3, of: 3 } }], {
          checked: [
            { file: 'k8s/a b.yaml', documents: 3 },
            { file: 'good.yaml', documents: 1 },
          ],
        }),
      ),
    )
    expect(root.attributes).toMatchObject({ tests: '4', failures: '1' })
    const [bad, good] = root.children
    expect(bad!.attributes).toMatchObject({ name: 'k8s/a b.yaml', tests: '3', failures: '1' })
    expect(good!.attributes).toMatchObject({ name: 'good.yaml', tests: '1', failures: '0' })
    expect(bad!.children.map(each => each.attributes.name)).toEqual(['document 1', 'document 2', 'document 3'])
    expect(bad!.children[1]!.attributes).toMatchObject({ classname: 'k8s/a b.yaml' })
    expect(bad!.children[1]!.children[0]!.attributes).toEqual({
      type: 'GW002',
      message: 'key `port` is set twice in this map',
    })
    expect(bad!.children[2]!.children[0]!.name).toBe('system-out')
  })

  test('Checkstyle has one error element for each finding', () => {
    const [file] = parseXml(renderCheckstyle(all)).children
    expect(file!.attributes.name).toBe('k8s/a b.yaml')
    expect(file!.children.map(each => each.attributes.source)).toEqual([
      'gwctl.GW301',
      'gwctl.GW601',
      'gwctl.GW002',
      'gwctl.GW102',
    ])
  })
})

describe('GitHub', () => {
  test('annotates a finding at its position', () => {
    expect(renderGithub(report([duplicate]))).toBe(
      '::error file=k8s/a b.yaml,line=3,endLine=3,col=1,endColumn=4,title=GW002::key `port` is set twice in this map%0Aset again here\n',
    )
    expect(renderGithub(report([note]))).toMatch(/^::notice .*title=GW601 HTTPRoute default\/chat::/)
    expect(renderGithub(report([]))).toBe('')
  })

  test('text from a file cannot start a command or leave its property', () => {
    const text = renderGithub(
      report(Array.from({ length: 12 }, (_, i) => ({ ...hostile, path: String(i), message: `${HOSTILE}${i}` }))),
    )
    const lines = text.trimEnd().split('\n')
    expect(lines.filter(line => line.startsWith('::error '))).toHaveLength(10)
    expect(lines.filter(line => line.startsWith('::'))).toHaveLength(12)
    for (const line of lines.slice(0, 10)) {
      const [, properties = ''] = /^::error (.*?)::/.exec(line) ?? []
      expect(properties.split(',').map(each => each.split('=')[0])).toEqual([
        'file',
        'line',
        'endLine',
        'col',
        'endColumn',
        'title',
      ])
      expect(line).toContain('%25')
    }
    expect(isPrintable(text)).toBe(true)
    expect(text).not.toContain('##[')
  })

  test('prints findings beyond the annotation limit in a group', () => {
    const many = Array.from({ length: 13 }, (_, i) => ({ ...duplicate, message: `m${i}` }))
    const lines = renderGithub(report([...many, { ...note, severity: 'warning' }]))
      .trimEnd()
      .split('\n')
    expect(lines.slice(0, 11).every(line => /^::(error|warning) /.test(line))).toBe(true)
    expect(lines[11]).toBe('::group::3 more problems that GitHub shows no annotation for')
    expect(lines.at(-1)).toBe('::endgroup::')
    expect(lines[12]).toMatch(/^- k8s\/a b\.yaml:3:1: error GW002 m/)
  })

  test('the job summary has a table in which Markdown from files has no effect', () => {
    const page = renderGithubSummary(report([hostile]))
    const row = page.split('\n').find(line => line.startsWith('| error'))!
    expect(row.split('|')).toHaveLength(6)
    expect(row).not.toMatch(/[<`[\]]/)
    expect(isPrintable(page)).toBe(true)
    expect(renderGithubSummary(report([]))).toContain('no problems')
  })

  test.each([
    ['POST localhost:8080/v1 with x-team: red, GET a.yaml:14 → b.yaml:12 (call 4)'],
    ['~ {max_tokens: 5}! - 1 + 2 #x', '&#126; {max_tokens: 5}! - 1 + 2 #x'],
    [
      '<redacted> a|b `c` *d* _e_ [f](g) \\ $h$',
      '&#60;redacted&#62; a&#124;b &#96;c&#96; &#42;d&#42; &#95;e&#95; &#91;f&#93;(g) &#92; &#36;h&#36;',
    ],
    ['http://a.example and www.a.example', 'http&#58;//a.example and www&#46;a.example'],
    ['@octocat, x@a.example, #12, GH-3', '@&#8203;octocat, x@&#8203;a.example, #&#8203;12, GH-&#8203;3'],
    [':100: &#64;octocat', ':&#8203;100: &#38;#&#8203;64;octocat'],
  ])('escapes Markdown in %s', (text, written = text) => {
    expect(markdownText(text)).toBe(written)
  })
})

test('GitLab gets a fingerprint, a position and a severity for each finding', () => {
  const [issue] = JSON.parse(renderGitlab(report([misspelt])))
  expect(issue).toEqual({
    description: 'unknown field `hsot` (did you mean `host`?)',
    check_name: 'GW102',
    fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/),
    severity: 'major',
    location: { path: 'k8s/a b.yaml', lines: { begin: 4, end: 4 } },
  })
  expect(isPrintable(renderGitlab(report([hostile])))).toBe(true)
})

test('reviewdog counts columns in bytes', () => {
  const whole = JSON.parse(renderRdjson(report([inner, misspelt]), tool))
  // `日本 ` before it: three bytes for each of the two, one for the space.
  expect(whole.diagnostics[0].location.range).toEqual({ start: { line: 1, column: 11 }, end: { line: 1, column: 13 } })
  expect(whole.diagnostics[1]).toMatchObject({
    severity: 'ERROR',
    code: { value: 'GW102' },
    suggestions: [{ range: { start: { line: 4, column: 1 }, end: { line: 4, column: 5 } }, text: 'host' }],
  })
  expect(isPrintable(renderRdjson(report([hostile]), tool))).toBe(true)
})

describe('the published schema of the JSON report', () => {
  const schema = JSON.parse(
    readFileSync(new URL('../../../schemas/diagnostics-report.schema.json', import.meta.url), 'utf8'),
  )
  const validate = new Ajv2020({ strict: false }).compile(schema)

  test('accepts the printed report', () => {
    for (const given of [all, report([]), report([hostile])]) {
      expect(validate(JSON.parse(renderJson(given, tool))), JSON.stringify(validate.errors)).toBe(true)
    }
  })

  test.each([
    ['an unknown code', '"code": "GW002"', '"code": "GW999"'],
    ['column 0', '"col": 1,', '"col": 0,'],
    ['a missing summary', '"summary"', '"sum"'],
    ['another version', '"version": 1,', '"version": 2,'],
  ])('rejects %s', (_name, from, to) => {
    const text = renderJson(all, tool)
    expect(text).toContain(from)
    expect(validate(JSON.parse(text.replace(from, to)))).toBe(false)
  })
})
