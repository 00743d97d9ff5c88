import { describe, expect, it } from 'vitest'
import { printYaml } from '../../src/diagnostics/print-yaml.ts'
import { parseSource } from '../../src/diagnostics/source.ts'
import { Placeholder } from '../../src/schema/placeholder.ts'

describe('printing YAML', () => {
  it('is readable, without aliases or folded lines', () => {
    const shared = { a: 1 }
    expect(printYaml({ x: shared, z: [shared, 'text'], long: 'word '.repeat(40).trim(), none: undefined })).toBe(
      `x:\n  a: 1\nz:\n  - a: 1\n  - text\nlong: ${'word '.repeat(40).trim()}\n`,
    )
  })

  it('quotes text that YAML 1.1 would misread', () => {
    expect(printYaml({ a: 'no', b: '012', c: '12:30', d: true, e: 'null', on: 1 })).toBe(
      'a: "no"\nb: "012"\nc: "12:30"\nd: true\ne: "null"\n"on": 1\n',
    )
  })

  it('round-trips, including hostile strings and keys', () => {
    const value = JSON.parse(
      '{"__proto__": {"a": 1}, "": "", "k: v": "a: b # c", "l": ["- x", "{{ .x }}", "\\u001b[31m\\t\\n", "日本 😀", "@x", "*a", "  pad "], "m": "line\\n  deep\\n\\nend\\n", "n": [null, 1.5, -0.25, 1e21, {}, []]}',
    )
    const source = parseSource('f.yaml', printYaml(value))
    expect(source.diagnostics).toEqual([])
    expect(JSON.stringify(source.documents[0]?.value)).toBe(JSON.stringify(value))
  })

  it('escapes unprintable characters and those that reorder text', () => {
    const value = { 'k\u009b': 'a\u009b31m\u202e', m: ['x\n\u0085y', '\ufeff'], plain: 'é 文 😀' }
    const text = printYaml(value)
    expect(text).toMatch(/^[\x20-\x7e\né文😀]*$/u)
    expect(parseSource('f.yaml', text).documents[0]?.value).toEqual(value)
  })

  it('keeps unset variables and, on request, dollar signs', () => {
    const value = { a: new Placeholder('X', 'Bearer $X'), b: '$HOME $$' }
    const text = printYaml(value, { escapeDollars: true })
    expect(text).toBe('a: Bearer $X\nb: $$HOME $$$$\n')
    const read = parseSource('f.yaml', text, { env: { HOME: '/' } }).documents[0]?.value
    expect(read).toEqual(value)
  })
})
