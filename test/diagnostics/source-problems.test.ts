import { describe, expect, it } from 'vitest'
import { parseSource } from '../../src/diagnostics/source.ts'

/** The one finding of a text: its place, the text it underlines and its words. */
function only(text: string) {
  const { diagnostics } = parseSource('f.yaml', text)
  expect(diagnostics).toHaveLength(1)
  const [d] = diagnostics
  const { start, end } = d!.range
  return {
    code: d!.code,
    at: `${start.line}:${start.col}`,
    marked: text.slice(start.offset, end.offset),
    message: d!.message,
    help: d!.help,
  }
}

describe('syntax error messages', () => {
  it.each([
    ['no space before a map', 'a:\n- b:{c: d, e: f}\n', '2:3', 'b:{', /space is missing after the colon/],
    ['no colon before a map', 'a:\n  b {c: {d: 1}}\n', '2:3', 'b {', /colon is missing before the bracket/],
    ['no colon before a list', 'a: 1\nb [c]\n', '2:1', 'b [', /colon is missing before the bracket/],
    ['a tab', 'a:\n\tb: 1\n', '2:1', '\t', /tab is used for indentation/],
    ['a tab after spaces', 'a:\n  b: 1\n  \tc: 2\n', '3:3', '\t', /tab is used for indentation/],
    ['a no-break space', 'a:\n\u00a0\u00a0b: 1\n', '2:1', '\u00a0\u00a0', /unusual space \(U\+00A0\)/],
    ['a no-break space that breaks the syntax', 'a:\n  b: 1\n\u00a0 c: 1\n', '3:1', '\u00a0', /unusual space/],
    ['a wide space', 'a:\n  b: 1\n \u3000c: 1\n', '3:2', '\u3000', /unusual space \(U\+3000\)/],
    ['a missing colon', 'binds\n- port: 1\n', '1:1', 'binds', /colon is missing/],
    ['a missing colon before more keys', 'port 80\nname: x\n', '1:1', 'port 80', /colon is missing/],
    ['a missing colon at the end', 'a: 1\nb 2\n', '2:1', 'b 2', /colon is missing/],
    ['a missing space after the colon', 'a:1\nb: 2\n', '1:1', 'a:1', /space is missing after the colon/],
    ['a missing space after the dash', 'a:\n-b\n', '2:1', '-b', /space is missing after the `-`/],
    ['a missing space in braces', 'a: {b:1}\n', '1:5', 'b:1', /space is missing after the colon/],
    ['an unclosed double quote', 'a: "foo\nb: 2\nc: 3\n', '1:4', '"foo', /quote that opens here is never closed/],
    [
      'an unclosed quote before a later one',
      'a: "foo\nb: "bar"\n',
      '1:4',
      '"foo',
      /quote that opens here is never closed/,
    ],
    ['an unclosed single quote', "a: 'foo\n", '1:4', "'foo", /quote that opens here is never closed/],
    ['an unclosed bracket', 'a: [1, 2\nb: 3\n', '1:4', '[', /`\[` is never closed/],
    ['an unclosed bracket within a closed one', 'a: {b: [1, 2}\nc: 1\n', '1:8', '[', /`\[` is never closed/],
    ['an unclosed brace at the root', '{"a": 1,\n "b": 2\n', '1:1', '{', /`\{` is never closed/],
    ['a missing comma', '{"a": 1\n "b": 2\n}\n', '1:7', '1', /comma is missing/],
    ['a missing comma on one line', '{"a": 1 "b": 2}\n', '1:7', '1 "b": 2', /comma is missing/],
    ['a list next to a map', 'a: 1\n- b\n', '2:1', '- b', /list item does not belong to the map/],
    ['a stray bracket', 'a: ]\n', '1:4', ']', /`\]` closes nothing/],
    ['an at sign', 'a: @foo # c\n', '1:4', '@foo', /cannot start with `@` unless it is quoted/],
    ['a backtick', 'a: `foo`\n', '1:4', '`foo`', /cannot start with a backtick/],
    ['a percent sign', 'a: %foo\n', '1:4', '%foo', /cannot start with `%`/],
    ['two keys on a line', 'a: foo: bar\nb: 1\n', '1:4', 'foo: bar', /two keys on one line/],
    ['a line indented too deep', 'a: 1\n  b: 2\n', '2:3', 'b', /`b` is indented deeper than the line above/],
    ['a line between two levels', 'a:\n  b: 1\n c: 2\n', '3:2', 'c: 2', /does not line up/],
    ['an item between two levels', 'a:\n  - b\n - c\n', '3:2', '- c', /does not line up/],
    ['a field between item and key', 'a:\n  - b: 1\n   c: 2\n', '3:4', 'c: 2', /does not line up/],
    ['a list on the line of its key', 'a: - b\n', '1:4', '-', /list cannot start on the line of its key/],
    ['a map next to a list', '- a\nb: 1\n', '2:1', 'b: 1', /does not belong to the list or map above/],
    ['an apostrophe in single quotes', "a: 'it's'\n", '1:8', "s'", /text after the closing quote/],
    ['two commas', 'a: [1,,2]\n', '1:7', ',', /value is missing before this comma/],
    ['an unknown escape', 'a: "\\d+"\n', '1:5', '\\d', /`\\d` is not an escape/],
    ['a bad block header', 'a: |x\n  foo\n', '1:5', 'x', /only `\+`, `-`, a digit or a comment/],
    ['a list as a key', '[a]: b\n', '1:1', '[a]', /key must be text/],
    ['an unknown tag', 'a: !secret x\n', '1:12', 'x', /tag `!secret` is not supported/],
    ['a binary value', 'a: !!binary aGk=\n', '1:13', 'aGk=', /tag `!!binary` is not supported/],
  ])('%s', (_name, text, at, marked, message) => {
    expect(only(text)).toMatchObject({ code: 'GW001', at, marked, message: expect.stringMatching(message) })
  })

  it('suggests how to write it', () => {
    expect(only('port 80\nname: x\n').help).toBe('write `port: 80`')
    expect(only('a: @foo\n').help).toBe('quote it: "@foo"')
  })

  it('reports one mistake once, without follow-up errors', () => {
    const { diagnostics } = parseSource('f.yaml', `a: @x\n${'\tb: [\n'.repeat(50)}`)
    expect(diagnostics).toHaveLength(1)
  })

  it('reports each broken document and reads the others', () => {
    const source = parseSource('f.yaml', 'a: @x\n---\nb: 1\n---\nc: "x\n')
    expect(source.diagnostics.map(d => [d.code, d.range.start.line, d.document])).toEqual([
      ['GW001', 1, { index: 1, of: 3 }],
      ['GW001', 5, { index: 3, of: 3 }],
    ])
    expect(source.documents.map(d => [d.broken, d.value])).toEqual([
      [true, undefined],
      [false, { b: 1 }],
      [true, undefined],
    ])
  })
})

describe('templates', () => {
  it.each([
    ['a loop', '{{- range .Values.x }}\na: 1\n{{- end }}\n', '1:1'],
    ['a value that YAML parses as a map', 'a: 1\nb: {{ .x }}\n', '2:4'],
    ['a value without a dot', 'a: {{ name }}\n', '1:4'],
    ['part of a plain value', 'image: repo:{{ .Values.tag }}\n', '1:8'],
    ['a key', '{{ .name }}: 1\n', '1:1'],
    ['an include with a pipe', 'a:\n{{ include "x" . | indent 2 }}\nb: 1\n', '2:1'],
    ['Jinja', 'a: 1\n{% if x %}\nb: 1\n{% endif %}\n', '2:1'],
  ])('%s is one finding', (_name, text, at) => {
    const found = only(text)
    expect(found).toMatchObject({ code: 'GW004', at })
    expect(found.help).toBe('render it first: `helm template . | gwctl validate -`')
  })

  it('are reported once per file', () => {
    const source = parseSource('f.yaml', 'a: {{ .x }}\n---\nb: {{ .y }}\n')
    expect(source.diagnostics.map(d => d.code)).toEqual(['GW004'])
    expect(source.documents.every(d => d.broken)).toBe(true)
  })

  it('are not reported for braces in quotes, text blocks, comments and prompts', () => {
    const text = '# {{ .Values.x }}\na: "{{ .x }}"\nb: |\n  {{ .x }}\nc: Hello {{name}}\nd: {x: {z: 1}}\n'
    expect(parseSource('f.yaml', text).diagnostics).toEqual([])
  })

  it('are not reported for another mistake in a file with braces in a comment', () => {
    expect(only('# {{ .Values.x }}\na: @b\n').code).toBe('GW001')
  })
})
