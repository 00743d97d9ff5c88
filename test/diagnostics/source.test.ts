import { describe, expect, it } from 'vitest'
import { parseSource } from '../../src/diagnostics/source.ts'
import { processorTime } from '../helpers/processor-time.ts'

const read = (text: string, file = 'f.yaml'): unknown => {
  const source = parseSource(file, text)
  expect(source.diagnostics).toEqual([])
  return source.documents[0]?.value
}
const codesOf = (text: string): string[] => parseSource('f.yaml', text).diagnostics.map(d => d.code)

describe('values', () => {
  it('resolves plain scalars by the YAML 1.2 core schema', () => {
    const text =
      'a: [1, -2, +3, 0x1F, 1.5, .5, 1., 1e3, 1.5E-2, true, False, null, ~, Null, "1", \'true\', 1.2.3, yes!, 1s]'
    expect(read(text)).toEqual({
      a: [1, -2, 3, 31, 1.5, 0.5, 1, 1000, 0.015, true, false, null, null, null, '1', 'true', '1.2.3', 'yes!', '1s'],
    })
    expect(read('a: .inf\nb: -.INF\nc: .nan\nd:\n')).toEqual({
      a: Number.POSITIVE_INFINITY,
      b: Number.NEGATIVE_INFINITY,
      c: Number.NaN,
      d: null,
    })
  })

  it('honours the core tags and rejects values that do not match them', () => {
    expect(read('a: !!str 1\nb: !!int "2"\nc: !!float 3\nd: ! 4\ne: !!map {}\nf: !!seq []\n')).toEqual({
      a: '1',
      b: 2,
      c: 3,
      d: '4',
      e: {},
      f: [],
    })
    expect(codesOf('a: !!int x\n')).toEqual(['GW001'])
  })

  it('keeps keys as text, exactly as written', () => {
    expect(read('1: a\ntrue: b\n~: c\n0x10: d\n"e": f\n? g\n: h\n')).toEqual({
      '1': 'a',
      true: 'b',
      '~': 'c',
      '0x10': 'd',
      e: 'f',
      g: 'h',
    })
  })

  it('keeps hostile keys as data', () => {
    const value = read('__proto__: {polluted: 1}\nconstructor: 2\ntoString: 3\n') as Record<string, unknown>
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'toString'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect((value as { polluted?: number }).polluted).toBeUndefined()
  })

  it('accepts JSON with tabs, and comments in .jsonc only', () => {
    expect(read('{\n\t"a": [1, "\\u00e9\\/", {}],\n\t"b": null\n}\n', 'f.json')).toEqual({
      a: [1, 'é/', {}],
      b: null,
    })
    const text = '{\n  // one "x"\n  "a": "http://x/*y*/", /* two\n */ "b": 1,\n}\n'
    const source = parseSource('f.jsonc', text)
    expect(source.diagnostics).toEqual([])
    expect(source.documents[0]?.value).toEqual({ a: 'http://x/*y*/', b: 1 })
    expect(source.text).toBe(text)
    expect(source.documents[0]?.origin(['b'])).toEqual({ file: 'f.jsonc', line: 4, col: 5 })
    expect(parseSource('f.json', text).diagnostics).toMatchObject([{ message: 'JSON has no comments' }])
  })

  it('reads text with CRLF and a byte order mark', () => {
    expect(read('\uFEFFa: |\r\n  x\r\n  y\r\nb: "1\r\n  2"\r\n')).toEqual({ a: 'x\ny\n', b: '1 2' })
  })
})

describe('documents', () => {
  it('are numbered, and comment-only ones are marked', () => {
    const { documents, diagnostics } = parseSource('f.yaml', '# Source: x\n---\n# nothing\n---\na: 1\n---\n~\n...\n')
    expect(diagnostics).toEqual([])
    expect(documents.map(d => [d.index, d.of, d.empty, d.value])).toEqual([
      [1, 3, true, null],
      [2, 3, false, { a: 1 }],
      [3, 3, false, null],
    ])
  })

  it.each(['', '\n\n', '# only a comment\n', '---\n', '---\n---\n# x\n'])('warns about %j', text => {
    expect(codesOf(text)).toEqual(['GW006'])
    expect(parseSource('f.yaml', text).documents.every(d => d.empty && !d.broken)).toBe(true)
  })
})

describe('duplicate keys', () => {
  it('names both lines and keeps the first value', () => {
    const { diagnostics, documents } = parseSource('f.yaml', 'a:\n  port: 1\n  x: 2\n  "port": 3\n')
    expect(diagnostics).toMatchObject([
      {
        code: 'GW002',
        path: 'a.port',
        range: { start: { line: 4, col: 3 } },
        related: [{ range: { start: { line: 2, col: 3 } } }],
      },
    ])
    expect(documents[0]?.value).toEqual({ a: { port: 1, x: 2 } })
  })

  it('finds them in braces and among merge keys, and reports each', () => {
    expect(codesOf('a: {b: 1, b: 2, b: 3}\n')).toEqual(['GW002', 'GW002'])
    expect(codesOf('x: &x {a: 1}\nz:\n  <<: *x\n  <<: *x\n')).toEqual(['GW002'])
  })
})

describe('anchors', () => {
  it('resolves aliases, the latest anchor of a name, and anchors on keys', () => {
    expect(read('a: &x 1\nb: *x\nc: &x [2]\nd: *x\n&k key: v\nf: *k\n')).toEqual({
      a: 1,
      b: 1,
      c: [2],
      d: [2],
      key: 'v',
      f: 'key',
    })
  })

  it('own keys win a merge, then the earlier source', () => {
    const text = `base: &b {a: 1, b: 1, c: 1}
more: &m {<<: *b, c: 2, d: 2}
one:
  b: own
  <<: *b
two: {<<: [*m, *b], a: own}
three: {<<: {x: 1}}
four: {"<<": text}
`
    expect(read(text)).toMatchObject({
      one: { a: 1, b: 'own', c: 1 },
      two: { a: 'own', b: 1, c: 2, d: 2 },
      three: { x: 1 },
      four: { '<<': 'text' },
    })
  })

  it('rejects merging anything but a map', () => {
    expect(codesOf('a: &a [1]\nb:\n  <<: *a\n')).toEqual(['GW001'])
    expect(codesOf('a:\n  <<: text\n')).toEqual(['GW001'])
  })

  it('suggests the nearest anchor for an unknown one', () => {
    const { diagnostics } = parseSource('f.yaml', 'a: &base 1\nb: *bsae\nc: *base\n')
    expect(diagnostics).toMatchObject([{ code: 'GW001', path: 'b', help: 'did you mean `base`?' }])
  })

  it.each([
    ['a list', 'a: &a\n  b: *a\n'],
    ['a merge', 'a: &a\n  <<: *a\n'],
    ['an inner merge', 'a: &a\n  b:\n    <<: [*a]\n'],
  ])('detects a cycle through %s', (_name, text) => {
    expect(parseSource('f.yaml', text).diagnostics).toMatchObject([
      { code: 'GW003', message: 'anchor `a` contains itself' },
    ])
  })

  it.each([
    [
      'lists',
      (i: number) =>
        `a${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join()}]\n`,
    ],
    ['merges', (i: number) => `a${i}: &a${i} {<<: [*a${i - 1}, *a${i - 1}, *a${i - 1}], k${i}: 1}\n`],
    ['map values', (i: number) => `a${i}: &a${i} {b: *a${i - 1}, c: *a${i - 1}}\n`],
  ])('stops an alias bomb of %s without expanding it', (_name, line) => {
    const text = `a0: &a0 {x: 1}\n${Array.from({ length: 60 }, (_, i) => line(i + 1)).join('')}`
    const before = process.memoryUsage().heapUsed
    expect(
      processorTime(() => {
        const source = parseSource('f.yaml', text)
        expect(source.diagnostics.map(d => d.code)).toEqual(['GW003'])
        expect(source.documents[0]?.value).toBeUndefined()
      }),
    ).toBeLessThan(1000)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100e6)
  })

  it('accepts many uses of a small anchor', () => {
    const text = `a: &a {x: 1}\nb:\n${'- *a\n'.repeat(5000)}`
    expect((read(text) as { b: unknown[] }).b).toHaveLength(5000)
  })
})

describe('depth', () => {
  it.each([
    ['brackets', '['.repeat(100_000)],
    ['braces', '{a: '.repeat(5000)],
    ['dashes', '- '.repeat(5000)],
    ['indentation levels', Array.from({ length: 2000 }, (_, i) => `${' '.repeat(i)}a:\n`).join('')],
  ])('rejects thousands of %s', (_name, text) => {
    const { diagnostics } = parseSource('f.yaml', text)
    expect(diagnostics).toMatchObject([{ code: 'GW001', message: expect.stringContaining('nested too deeply') }])
  })

  it('accepts 400 levels, and rejects excessive depth through aliases', () => {
    expect(codesOf('['.repeat(400) + ']'.repeat(400))).toEqual([])
    const nest = (inner: string): string => '['.repeat(300) + inner + ']'.repeat(300)
    expect(codesOf(`a: &a ${nest('1')}\nb: ${nest('*a')}\n`)).toEqual(['GW003'])
  })

  it('keeps the documents before one that is too deep', () => {
    const { documents } = parseSource('f.yaml', `a: 1\n---\n${'['.repeat(2000)}`)
    expect(documents.map(d => [d.value, d.broken])).toEqual([
      [{ a: 1 }, false],
      [undefined, true],
    ])
  })
})

describe('ambiguous scalars', () => {
  it.each([
    ['a: no', 'no', 'text', 'false'],
    ['a: Off', 'Off', 'text', 'false'],
    ['a: y', 'y', 'text', 'true'],
    ['y: a', 'y', 'text', 'true'],
    ['on: [x]', 'on', 'text', 'true'],
    ['a: 012', '012', 'the number 12', 'the octal number 10'],
    ['a: 0o14', '0o14', 'the number 12', 'text'],
    ['a: 089', '089', 'the number 89', 'text'],
    ['a: 1_000', '1_000', 'text', 'the number 1000'],
    ['a: 0b11', '0b11', 'text', 'the number 3'],
    ['a: 12:30', '12:30', 'text', 'the base 60 number 750'],
    ['a: -1:00:00', '-1:00:00', 'text', 'the base 60 number -3600'],
  ])('%s', (text, scalar, now, then) => {
    const { diagnostics } = parseSource('f.yaml', text)
    expect(diagnostics).toMatchObject([
      { code: 'GW005', severity: 'warning', message: `\`${scalar}\` is ${now} in YAML 1.2 and ${then} in YAML 1.1` },
    ])
    const { offset } = diagnostics[0]!.range.start
    expect(text.slice(offset, diagnostics[0]!.range.end.offset)).toBe(scalar)
  })

  it('quotes text so that the value does not change', () => {
    const text = 'a: no\n'
    const [diagnostic] = parseSource('f.yaml', text).diagnostics
    const [edit] = diagnostic!.fix!.edits
    expect(diagnostic!.fix!.safe).toBe(true)
    const fixed = text.slice(0, edit!.range.start.offset) + edit!.text + text.slice(edit!.range.end.offset)
    expect(fixed).toBe("a: 'no'\n")
    expect(read(fixed)).toEqual({ a: 'no' })
    expect(parseSource('f.yaml', 'a: 012').diagnostics[0]?.fix).toBeUndefined()
  })

  it('has no finding where YAML versions agree', () => {
    const text =
      'a: [07, 0, 00, 0x1F, "no", \'y\', null, true, 2024-10-21, 127.0.0.1:8000, 1.5, 1e3, 10s, 90:80:1x, nope]\nb: |\n  no\n'
    expect(codesOf(text)).toEqual([])
  })
})

it('reads 30,000 lines with positions well within budget', () => {
  const item = `- port: 8080
  listeners:
  - name: "a"
    routes:
    - name: r
      policies:
        cors: {allowOrigins: ["*"]}
        rule: 'jwt.email.endsWith("x")'
      backends:
      - host: 127.0.0.1:8000
`
  const text = `binds:\n${item.repeat(3000)}`
  let place: unknown
  const took = processorTime(() => {
    const source = parseSource('f.yaml', text, { env: {} })
    place = source.documents[0]!.origin(['binds', 2999, 'listeners', 0, 'routes', 0, 'backends', 0, 'host'])
  })
  // Generous: about 0.6 s.
  expect(took).toBeLessThan(3000)
  expect(place).toEqual({ file: 'f.yaml', line: 30_001, col: 9 })
})

it.each([3, 300])('with %i other keys, finds the first of two duplicates and keys from a merge', many => {
  const others = Array.from({ length: many }, (_, i) => `  k${i}: 1\n`).join('')
  const text = `base: &base\n${others}  far: 1\nmap:\n${others}  twice: 1\n  twice: 2\n  <<: *base\n`
  const origin = parseSource('a.yaml', text).documents[0]!.origin
  expect(origin(['map', 'twice']).line).toBe(2 * many + 4)
  expect(origin(['map', 'far']).line).toBe(many + 2)
  expect(origin(['map', `k${many - 1}`]).line).toBe(2 * many + 3)
  expect(origin(['map', 'none']).line).toBe(many + 3)
})
