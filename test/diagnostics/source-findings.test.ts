import { describe, expect, it } from 'vitest'
import type { Diagnostic, Finding } from '../../src/diagnostics/diagnostic.ts'
import { parseSource, type SourceOptions } from '../../src/diagnostics/source.ts'

type Where = Partial<Finding> & Pick<Finding, 'path'>

function resolve(text: string, finding: Where, options: SourceOptions = {}): Diagnostic {
  const source = parseSource('f.yaml', text, options)
  const document = source.documents.find(d => !d.empty)!
  return document.resolve({ code: 'GW101', message: 'm', at: 'value', ...finding })
}

function marked(text: string, finding: Where, options: SourceOptions = {}): string {
  const { start, end } = resolve(text, finding, options).range
  return text.slice(start.offset, end.offset)
}

const FILE = `# comment
binds:
- port: 8080 # here
  listeners:
  - name: "a b"
    routes: [{name: x, weight: 1}]
  tls:
    cert: /x

  empty:
- port: 1
`

describe('finding positions', () => {
  it.each([
    ['the key', { path: ['binds', 0, 'port'], at: 'key' }, 'port'],
    ['the value', { path: ['binds', 0, 'port'], at: 'value' }, '8080'],
    ['a quoted value', { path: ['binds', 0, 'listeners', 0, 'name'], at: 'value' }, '"a b"'],
    ['a value in braces', { path: ['binds', 0, 'listeners', 0, 'routes', 0, 'weight'], at: 'value' }, '1'],
    ['a map in braces', { path: ['binds', 0, 'listeners', 0, 'routes', 0], at: 'value' }, '{name: x, weight: 1}'],
    ['a block map without the text after it', { path: ['binds', 0, 'tls'], at: 'value' }, 'cert: /x'],
    ['the parent key of a missing field', { path: ['binds', 0, 'tls', 'key'], at: 'parent' }, 'tls'],
    ['the item of a missing field', { path: ['binds', 1, 'listeners'], at: 'parent' }, 'port: 1'],
    ['only the first line of an item', { path: ['binds', 0, 'name'], at: 'parent' }, 'port: 8080'],
    [
      'the item in braces',
      { path: ['binds', 0, 'listeners', 0, 'routes', 0, 'x'], at: 'parent' },
      '{name: x, weight: 1}',
    ],
    ['the nearest key of a missing path', { path: ['binds', 0, 'tls', 'a', 'b', 'c'], at: 'value' }, 'tls'],
    ['an item as a key', { path: ['binds', 1], at: 'key' }, 'port: 1'],
  ] as const)('underline %s', (_name, finding, text) => {
    expect(marked(FILE, finding)).toBe(text)
  })

  it('point at the gap of a missing value and at the start of a document', () => {
    expect(resolve(FILE, { path: ['binds', 0, 'empty'] }).range.start).toMatchObject({ line: 10, col: 9 })
    expect(resolve(FILE, { path: ['kind'], at: 'parent' }).range.start).toMatchObject({ line: 2, col: 1 })
    expect(resolve('---\n# x\n\nkind: y\n', { path: ['a'], at: 'parent' }).range.start).toMatchObject({
      line: 4,
      col: 1,
    })
    const empty = parseSource('f.yaml', '# x\n---\n').documents[0]!
    expect(empty.resolve({ code: 'GW103', message: 'm', path: ['a'], at: 'parent' }).range.start.line).toBe(2)
  })

  it('include the document, path, related places and texts', () => {
    const source = parseSource('f.yaml', 'a: 1\n---\nb: {c: 2}\n')
    const diagnostic = source.documents[1]!.resolve({
      code: 'GW203',
      message: 'm',
      path: ['b', 'c'],
      at: 'key',
      label: 'l',
      help: 'h',
      note: 'n',
      related: [{ path: ['b'], at: 'key', message: 'first' }],
    })
    expect(diagnostic).toEqual({
      code: 'GW203',
      severity: 'error',
      message: 'm',
      file: 'f.yaml',
      range: { start: { line: 3, col: 5, offset: 13 }, end: { line: 3, col: 6, offset: 14 } },
      path: 'b.c',
      document: { index: 2, of: 2 },
      label: 'l',
      help: 'h',
      note: 'n',
      related: [
        {
          message: 'first',
          file: 'f.yaml',
          range: { start: { line: 3, col: 1, offset: 9 }, end: { line: 3, col: 2, offset: 10 } },
        },
      ],
    })
  })

  it('give the origin of fields and items', () => {
    const { documents } = parseSource('f.yaml', FILE)
    expect(documents[0]!.origin(['binds', 0, 'tls', 'cert'])).toEqual({ file: 'f.yaml', line: 8, col: 5 })
    expect(documents[0]!.origin(['binds', 1])).toEqual({ file: 'f.yaml', line: 11, col: 3 })
    expect(documents[0]!.origin([])).toEqual({ file: 'f.yaml', line: 2, col: 1 })
  })
})

describe('spans inside scalars', () => {
  /** `[[…]]` in the file marks where a span of the decoded text must land. */
  const landsOn = (marked: string, decoded: string, part: string): void => {
    const start = marked.indexOf('[[')
    const end = marked.indexOf(']]') - 2
    const text = marked.replace('[[', '').replace(']]', '')
    const value = (parseSource('f.yaml', text).documents[0]!.value as { k: string }).k
    expect(value).toBe(decoded)
    const at = decoded.indexOf(part)
    const { range } = resolve(text, { path: ['k'], span: [at, at + part.length] })
    expect([range.start.offset, range.end.offset]).toEqual([start, end])
  }

  it.each([
    ['plain', 'k: a.[[bad]](x)\n', 'a.bad(x)', 'bad'],
    ['plain across lines', 'k: one\n  two\n\n  a.[[bad]]()\n', 'one two\na.bad()', 'bad'],
    ['single quotes', "k: 'it''s ''[[bad]]'''\n", "it's 'bad'", 'bad'],
    ['single quotes across lines', "k: 'one \n\n   two [[bad]] '\n", 'one\ntwo bad ', 'bad'],
    ['double quotes with escapes', 'k: "\\t\\u00e9\\x41\\U0001F600 \\"[[bad]]\\""\n', '\té\u0041😀 "bad"', 'bad'],
    ['an escape itself', 'k: "a[[\\u00e9]]b"\n', 'aéb', 'é'],
    ['double quotes across lines', 'k: "one\n  two \\\n  thr\\\n  ee\n\n  [[bad]]"\n', 'one two three\nbad', 'bad'],
    ['a literal block', 'k: |\n  one\n    two\n\n  [[bad]] x\n', 'one\n  two\n\nbad x\n', 'bad'],
    ['a literal block with an indicator', 'k: |2-\n    one\n  [[bad]]\n', '  one\nbad', 'bad'],
    ['a literal block that keeps its trailing newlines', 'k: |+\n  one\n  [[bad]]\n\n', 'one\nbad\n\n', 'bad'],
    ['a folded block', 'k: >-\n  one\n  two\n\n  three\n    deep\n  [[bad]]\n', 'one two\nthree\n  deep\nbad', 'bad'],
    ['a folded block with a comment', 'k: > # c\n  one\n  [[bad]]\nz: 1\n', 'one bad\n', 'bad'],
    ['a span across a fold', 'k: >\n  on[[e\n  tw]]o\n', 'one two\n', 'e tw'],
    ['a tagged and anchored value', 'k: !!str &a "x [[bad]]"\n', 'x bad', 'bad'],
    ['surrogate pairs', 'k: 😀😀[[bad]]\n', '😀😀bad', 'bad'],
  ])('%s', (_name, text, decoded, part) => {
    landsOn(text, decoded, part)
    landsOn(text.replaceAll('\n', '\r\n'), decoded, part)
  })

  it('in map keys as well', () => {
    expect(marked('"a\\tbad": 1\n', { path: ['a\tbad'], at: 'key', span: [2, 5] })).toBe('bad')
  })

  it('are clamped, and can point past the last character', () => {
    expect(marked('k: abc\n', { path: ['k'], span: [1, 99] })).toBe('bc')
    expect(resolve('k: "abc"\n', { path: ['k'], span: [3, 3] }).range.start.col).toBe(8)
    expect(resolve('k: "abc"\n', { path: ['k'], span: [9, 12] }).range.start.col).toBe(8)
    expect(marked('k: ""\n', { path: ['k'], span: [0, 1] })).toBe('""')
  })

  it('fall back to the whole scalar when a variable changed it', () => {
    const env = { LONG: 'something long' }
    expect(marked('k: $LONG.bad\n', { path: ['k'], span: [0, 3] }, { env })).toBe('$LONG.bad')
    expect(marked('k: a.bad$\n', { path: ['k'], span: [2, 5] }, { env })).toBe('bad')
    expect(marked('k: $LONG\nj: next\n', { path: ['j'] }, { env })).toBe('next')
  })
})

describe('aliases', () => {
  const text = `base: &b
  match: 'a.bad()'
  inner: {x: 1}
list:
- *b
- <<: *b
  own: 1
- match: *nothing
`.replace('- match: *nothing\n', '')

  it('underline the alias and point to the exact spot at the anchor', () => {
    const diagnostic = resolve(text, { path: ['list', 0, 'match'], span: [2, 5] })
    const [related] = diagnostic.related
    expect(text.slice(diagnostic.range.start.offset, diagnostic.range.end.offset)).toBe('*b')
    expect(diagnostic.range.start.line).toBe(5)
    expect(text.slice(related!.range.start.offset, related!.range.end.offset)).toBe('bad')
    expect(related!.message).toBe('written here, at anchor `b`')
  })

  it("do so through merge keys, but not for the map's own keys", () => {
    const merged = resolve(text, { path: ['list', 1, 'inner', 'x'] })
    expect(merged.range.start).toMatchObject({ line: 6, col: 7 })
    expect(merged.related[0]!.range.start).toMatchObject({ line: 3, col: 14 })
    expect(resolve(text, { path: ['list', 1, 'own'] })).toMatchObject({ range: { start: { line: 7 } }, related: [] })
  })

  it('do so for the alias itself', () => {
    const diagnostic = resolve(text, { path: ['list', 0] })
    expect(diagnostic.range.start).toMatchObject({ line: 5, col: 3 })
    expect(diagnostic.related[0]!.range.start).toMatchObject({ line: 2, col: 3 })
  })

  it('have their origin where the value is defined', () => {
    expect(parseSource('f.yaml', text).documents[0]!.origin(['list', 1, 'match'])).toEqual({
      file: 'f.yaml',
      line: 2,
      col: 3,
    })
  })
})

describe('fixes', () => {
  const apply = (text: string, finding: Where): { text: string; safe: boolean } => {
    const { fix } = resolve(text, finding)
    const [edit] = fix!.edits
    const { start, end } = edit!.range
    return { text: text.slice(0, start.offset) + edit!.text + text.slice(end.offset), safe: fix!.safe }
  }

  it('replace only a key or a value', () => {
    const rename = { title: 't', safe: true, replace: 'key', with: 'host' } as const
    expect(apply('a: {hsot: x} # c\n', { path: ['a', 'hsot'], at: 'key', fix: rename })).toEqual({
      text: 'a: {host: x} # c\n',
      safe: true,
    })
    const change = { title: 't', safe: true, replace: 'value', with: '8080' } as const
    expect(apply('a: "8080" # c\n', { path: ['a'], fix: change }).text).toBe('a: 8080 # c\n')
  })

  it('quote words that YAML would misread', () => {
    const change = { title: 't', safe: true, replace: 'value', with: '*' } as const
    expect(apply('a: x\n', { path: ['a'], fix: change }).text).toBe('a: "*"\n')
  })

  it('are not safe behind an anchor that is used elsewhere', () => {
    const text = 'a: &a {hsot: x}\nb: *a\n'
    const rename = { title: 't', safe: true, replace: 'key', with: 'host' } as const
    expect(apply(text, { path: ['b', 'hsot'], at: 'key', fix: rename })).toEqual({
      text: 'a: &a {host: x}\nb: *a\n',
      safe: false,
    })
  })

  it('are omitted when there is nothing to replace', () => {
    const change = { title: 't', safe: true, replace: 'value', with: 'x' } as const
    expect(resolve('a: 1\n', { path: ['b'], fix: change }).fix).toBeUndefined()
  })
})
