import { describe, expect, it } from 'vitest'
import type { Diagnostic } from '../../../src/diagnostics/diagnostic.ts'
import { type Paint, plainPaint } from '../../../src/diagnostics/paint.ts'
import { renderConcise } from '../../../src/diagnostics/render/concise.ts'
import { renderJson } from '../../../src/diagnostics/render/json.ts'
import { renderNdjson } from '../../../src/diagnostics/render/ndjson.ts'
import { arrange, type CheckReport, displayPath } from '../../../src/diagnostics/render/report.ts'
import { renderText } from '../../../src/diagnostics/render/text.ts'
import { parseSource } from '../../../src/diagnostics/source.ts'

const TEXT = `binds:
- port: 3000
  listeners:
  - routes:
    - backends:
      - hsot: 127.0.0.1:8000
      rule: 'jwt.email.endWith("@example.com")'
`
const ROUTE = ['binds', 0, 'listeners', 0, 'routes', 0] as const
const source = parseSource('gateway/config.yaml', TEXT)
const document = source.documents[0]!
const unknownField = document.resolve({
  code: 'GW102',
  message: 'unknown field `hsot` in backend',
  path: [...ROUTE, 'backends', 0, 'hsot'],
  at: 'key',
  label: 'not a field of a backend',
  help: 'did you mean `host`?',
  fix: { title: 'rename it to `host`', safe: true, replace: 'key', with: 'host' },
})
const badCall = document.resolve({
  code: 'GW301',
  message: 'CEL: no such method `endWith` on string',
  path: [...ROUTE, 'rule'],
  at: 'value',
  span: [10, 17],
  label: 'did you mean `endsWith`?',
})

const report = (diagnostics: readonly Diagnostic[], text = TEXT): CheckReport => ({
  diagnostics,
  files: 2,
  documents: 7,
  skipped: [],
  textOf: file => (file === 'gateway/config.yaml' ? text : undefined),
  cwd: '/work',
})
const text = (diagnostics: readonly Diagnostic[], from = TEXT): string =>
  renderText(report(diagnostics, from), { paint: plainPaint })

describe('text', () => {
  it('shows each finding at its line, and the summary last', () => {
    expect(text([badCall, unknownField])).toBe(`error[GW102]: unknown field \`hsot\` in backend
 --> gateway/config.yaml:6:9
  |
5 |     - backends:
6 |       - hsot: 127.0.0.1:8000
  |         ^^^^ not a field of a backend
  |
  = help: did you mean \`host\`?   (fixable: gwctl validate --fix)
  = path: binds[0].listeners[0].routes[0].backends[0].hsot
  = docs: gwctl explain GW102

error[GW301]: CEL: no such method \`endWith\` on string
 --> gateway/config.yaml:7:24
  |
6 |       - hsot: 127.0.0.1:8000
7 |       rule: 'jwt.email.endWith("@example.com")'
  |                        ^^^^^^^ did you mean \`endsWith\`?
  |
  = path: binds[0].listeners[0].routes[0].rule
  = docs: gwctl explain GW301

✖ 2 errors in 2 files (7 documents) · 1 fixable
`)
  })

  it('shows related places with their own lines, the document and the resource', () => {
    const yaml = `${'# x\n'.repeat(8)}---\nkind: A\nport: 1\nport: 2\n---\nkind: B\n`
    const [duplicate] = parseSource('gateway/config.yaml', yaml).diagnostics
    expect(text([{ ...duplicate!, resource: 'HTTPRoute default/chat', note: 'one\ntwo' }], yaml)).toBe(
      `error[GW002]: key \`port\` is set twice in this map
  --> gateway/config.yaml:12:1 (document 1 of 2, HTTPRoute default/chat)
   |
11 | port: 1
12 | port: 2
   | ^^^^ set again here
  ::: gateway/config.yaml:11:1
   |
11 | port: 1
   | ---- first set here
   |
   = note: one
           two
   = path: port
   = docs: gwctl explain GW002

✖ 1 error in 2 files (7 documents)
`,
    )
  })

  it('aligns the underline with tabs, wide and combining characters', () => {
    const yaml = 'a: "\t日本 e\u0301 😀 bad"\n'
    const { documents } = parseSource('gateway/config.yaml', yaml)
    const value = documents[0]!.value as { a: string }
    const at = value.a.indexOf('bad')
    const found = documents[0]!.resolve({ code: 'GW301', message: 'm', path: ['a'], at: 'value', span: [at, at + 3] })
    const lines = text([found], yaml).split('\n')
    expect(lines[3]).toBe('1 | a: "    日本 e\u0301 😀 bad"')
    // 18 cells before `bad`: a tab to the next stop, two cells for each of 日, 本 and 😀, none for the accent.
    expect(lines[4]).toBe(`  | ${' '.repeat(18)}^^^`)
  })

  it('truncates long lines around the position', () => {
    const yaml = `a: "${'x'.repeat(300)}BAD${'z'.repeat(300)}"\n`
    const { documents } = parseSource('gateway/config.yaml', yaml)
    const find = (span: readonly [number, number]): string[] => {
      const found = documents[0]!.resolve({ code: 'GW301', message: 'm', path: ['a'], at: 'value', span })
      return renderText(report([found], yaml), { paint: plainPaint, width: 30 })
        .split('\n')
        .slice(3, 5)
    }
    expect(find([300, 303])).toEqual(['1 | …xxxxxxxxxxBADzzzzzzzzzzzzzzz…', `  | ${' '.repeat(11)}^^^`])
    expect(find([0, 2])).toEqual([`1 | a: "${'x'.repeat(25)}…`, '  |     ^^'])
    expect(find([0, 600])).toEqual([`1 | a: "${'x'.repeat(25)}…`, `  |     ${'^'.repeat(25)}`])
    expect(find([601, 603])).toEqual([`1 | …${'z'.repeat(28)}"`, `  | ${' '.repeat(27)}^^`])
  })

  it('does not let a file control the terminal', () => {
    const yaml = 'a\u009b31m: "\u001b]0;x\u0007\u202etxt\u200b" # \u001b[2J\r\n'
    const { documents } = parseSource('gateway/config.yaml', yaml)
    const found = documents[0]!.resolve({ code: 'GW101', message: 'bad \u001b[31m', path: ['a\u009b31m'], at: 'key' })
    const printed = text([{ ...found, file: 'gateway/config.yaml', resource: 'X \u001b[1m', help: '\u0007' }], yaml)
    expect(printed).toBe(`error[GW101]: bad ␛[31m
 --> gateway/config.yaml:1:1 (X ␛[1m)
  |
1 | a⟨U+009B⟩31m: "␛]0;x␇⟨U+202E⟩txt⟨U+200B⟩" # ␛[2J
  | ^^^^^^^^^^^^
  |
  = help: ␇
  = path: ["a⟨U+009B⟩31m"]
  = docs: gwctl explain GW101

✖ 1 error in 2 files (7 documents)
`)
  })

  it('stops at --max-problems but counts all', () => {
    const many = Array.from({ length: 60 }, (_, i) => ({ ...badCall, message: `m${String(i).padStart(2, '0')}` }))
    const printed = text(many)
    expect(printed.match(/^error\[/gm)).toHaveLength(50)
    expect(
      printed.endsWith(
        '\n… 10 more problems not shown (--max-problems 0 shows all)\n\n✖ 60 errors in 2 files (7 documents)\n',
      ),
    ).toBe(true)
    const all = renderText(report(many), { paint: plainPaint, maxProblems: 0 })
    expect(all.match(/^error\[/gm)).toHaveLength(60)
  })

  it('reports when there are no problems', () => {
    expect(text([])).toBe('✓ no problems in 2 files (7 documents)\n')
    const [warning] = parseSource('gateway/config.yaml', 'a: no\n').diagnostics
    expect(text([warning!], 'a: no\n').split('\n').at(-2)).toBe('✓ 1 warning in 2 files (7 documents) · 1 fixable')
    const skipped = { ...report([]), files: 1, documents: 1, skipped: [{ file: 'x', reason: 'not ours' }] }
    expect(renderText(skipped, { paint: plainPaint })).toBe('✓ no problems in 1 file (1 document) · 1 skipped\n')
  })

  it('works without the source text, and colors do not change the text', () => {
    expect(text([{ ...badCall, file: 'gone.yaml' }])).toContain('--> gone.yaml:7:24\n  = path: ')
    const marks: Paint = {
      error: t => `<e>${t}</e>`,
      warning: t => `<w>${t}</w>`,
      info: t => `<i>${t}</i>`,
      success: t => `<s>${t}</s>`,
      bold: t => `<b>${t}</b>`,
      dim: t => `<d>${t}</d>`,
      caret: t => `<c>${t}</c>`,
    }
    const painted = renderText(report([badCall]), { paint: marks })
    expect(painted).toContain('<e>error[GW301]</e>')
    expect(painted).toContain('<c>^^^^^^^ did you mean `endsWith`?</c>')
    expect(painted.replace(/<\/?\w>/g, '')).toBe(text([badCall]))
  })
})

describe('order', () => {
  it('is by file, position and severity, without duplicates', () => {
    const at = (file: string, offset: number, severity: 'error' | 'warning', message: string): Diagnostic => ({
      ...badCall,
      file,
      severity,
      message,
      range: { start: { line: 1, col: 1, offset }, end: { line: 1, col: 1, offset } },
    })
    const sorted = arrange([
      at('b', 1, 'error', '1'),
      at('a', 9, 'warning', '2'),
      at('a', 9, 'error', '3'),
      at('a', 2, 'warning', '4'),
      at('a', 9, 'error', '3'),
    ])
    expect(sorted.map(d => d.message)).toEqual(['4', '3', '2', '1'])
  })
})

it('concise prints one line per finding', () => {
  expect(
    renderConcise(report([badCall, { ...unknownField, file: '/work/a\u001bb.yaml' }]), { paint: plainPaint }),
  ).toBe(
    `a␛b.yaml:6:9: error GW102 unknown field \`hsot\` in backend
gateway/config.yaml:7:24: error GW301 CEL: no such method \`endWith\` on string
✖ 2 errors in 2 files (7 documents) · 1 fixable
`,
  )
})

describe('JSON', () => {
  const tool = { name: 'gwctl', version: '1.2.3' }

  it('is one versioned object with relative paths', () => {
    const input: CheckReport = {
      ...report([{ ...unknownField, file: '/work/gateway/config.yaml' }]),
      skipped: [{ file: '/work/x.yaml', document: 2, reason: 'not a resource' }],
    }
    expect(JSON.parse(renderJson(input, tool))).toEqual({
      version: 1,
      tool,
      summary: { errors: 1, warnings: 0, infos: 0, files: 2, documents: 7, fixable: 1, suppressed: 0 },
      diagnostics: [
        {
          code: 'GW102',
          severity: 'error',
          message: 'unknown field `hsot` in backend',
          file: 'gateway/config.yaml',
          range: { start: { line: 6, col: 9, offset: 69 }, end: { line: 6, col: 13, offset: 73 } },
          path: 'binds[0].listeners[0].routes[0].backends[0].hsot',
          label: 'not a field of a backend',
          help: 'did you mean `host`?',
          related: [],
          fix: {
            title: 'rename it to `host`',
            safe: true,
            edits: [
              {
                file: 'gateway/config.yaml',
                range: { start: { line: 6, col: 9, offset: 69 }, end: { line: 6, col: 13, offset: 73 } },
                text: 'host',
              },
            ],
          },
          docs: 'gwctl explain GW102',
        },
      ],
      suppressed: [],
      fixed: [],
      skipped: [{ file: 'x.yaml', document: 2, reason: 'not a resource' }],
    })
  })

  it('escapes terminal control characters', () => {
    const hostile = { ...badCall, message: '\u001b[31m\u009b31m\u202e' }
    for (const printed of [renderJson(report([hostile]), tool), renderNdjson(report([hostile]))]) {
      expect(printed.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
    }
    expect(JSON.parse(renderNdjson(report([hostile]))).message).toBe(hostile.message)
  })

  it('has one line per finding in ndjson', () => {
    const lines = renderNdjson(report([badCall, unknownField]))
      .trimEnd()
      .split('\n')
    expect(lines.map(line => JSON.parse(line).code)).toEqual(['GW102', 'GW301'])
    expect(renderNdjson(report([]))).toBe('')
  })

  it('shows paths as users write them', () => {
    expect(displayPath('/work/a/b.yaml', '/work')).toBe('a/b.yaml')
    expect(displayPath('/other/b.yaml', '/work')).toBe('/other/b.yaml')
    expect(displayPath('-', '/work')).toBe('-')
    expect(displayPath('a/b.yaml', '/work')).toBe('a/b.yaml')
  })
})
