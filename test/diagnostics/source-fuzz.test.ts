import { expect, it } from 'vitest'
import type { Diagnostic, Path, Range } from '../../src/diagnostics/diagnostic.ts'
import { plainPaint } from '../../src/diagnostics/paint.ts'
import { renderText } from '../../src/diagnostics/render/text.ts'
import { parseSource } from '../../src/diagnostics/source.ts'

const SEEDS = [
  'binds:\n- port: 8080\n  listeners:\n  - routes:\n    - matches: [{path: {exact: /x}}]\n      backends: [{host: a:1}]\n',
  'a: &a {x: 1, z: [1, 2]}\nb: *a\nc:\n  <<: *a\n  d: |\n    text\n      more\n  e: >-\n    folded\n\n    text\n',
  '{"a": [1, "\\u00e9\\n", {"b": null}], "c": "x"}\n',
  '# c\n---\nkind: X\nmetadata: {name: n}\n---\n!!str a: "b\n  c"\n? k\n: v\n...\n',
  "a: 'it''s'\nb: \"q\\\"\"\nc: $VAR ${X:-y} $$\nd: no\ne: 012\nf: {{ .x }}\ng: 日本語 😀\n",
]
const PIECES = [
  ...'\t \n\r:-,[]{}#&*!|>\'"%@`?$~<=.\\0aéж😀\u0000\u001b\u202e\ufeff\u2028\ud800',
  '\n  ',
  '\r\n',
  ': ',
  '- ',
  '{{ ',
  ' }}',
  '<<: *a',
  '&a ',
  '*a',
  '---\n',
  '...\n',
  '!!int ',
  '${',
  '"\\x',
  '|2\n',
  '? ',
  '\n\t',
]

/** mulberry32: the same texts in every run. */
function random(seed: number): (below: number) => number {
  return below => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

function mutate(next: (below: number) => number): string {
  let text = SEEDS[next(SEEDS.length)]!
  for (let edits = 1 + next(6); edits > 0; edits--) {
    const at = next(text.length + 1)
    const cut = next(3) === 0 ? next(12) : 0
    const kind = next(8)
    const piece =
      kind === 0 ? text.slice(next(text.length), next(text.length)) : kind < 7 ? PIECES[next(PIECES.length)]! : ''
    text = text.slice(0, at) + piece + text.slice(at + cut)
  }
  return text
}

function* paths(value: unknown, path: Path = []): Generator<Path> {
  yield path
  if (typeof value !== 'object' || value === null || path.length > 12) return
  for (const [key, inner] of Object.entries(value))
    yield* paths(inner, [...path, Array.isArray(value) ? Number(key) : key])
}

function expectInside(diagnostic: Diagnostic, text: string): void {
  const ranges: Range[] = [diagnostic.range, ...diagnostic.related.map(place => place.range)]
  for (const edit of diagnostic.fix?.edits ?? []) ranges.push(edit.range)
  for (const { start, end } of ranges) {
    expect(start.offset).toBeGreaterThanOrEqual(0)
    expect(end.offset).toBeGreaterThanOrEqual(start.offset)
    expect(end.offset).toBeLessThanOrEqual(text.length)
    expect(start.line).toBe(text.slice(0, start.offset).split('\n').length)
    expect(start.col).toBe(start.offset - text.lastIndexOf('\n', start.offset - 1))
  }
}

it('never throws, and every position is inside the text', () => {
  const next = random(20261121)
  for (let round = 0; round < 2000; round++) {
    const text = mutate(next)
    const env = round % 2 === 0 ? { VAR: 'v' } : undefined
    const source = parseSource('f.yaml', text, env ? { env, unset: 'error' } : {})
    const found = [...source.diagnostics]
    for (const document of source.documents) {
      expect(document.broken).toBe(document.value === undefined)
      for (const path of paths(document.value)) {
        for (const at of ['key', 'value', 'parent'] as const) {
          const fix = { title: 't', safe: true, replace: 'value', with: 'x' } as const
          found.push(document.resolve({ code: 'GW101', message: 'm', path, at, span: [next(4), next(9)], fix }))
        }
        expect(document.origin(path).line).toBeGreaterThan(0)
      }
      if (document.broken) expect(source.diagnostics.some(d => d.severity === 'error')).toBe(true)
    }
    for (const diagnostic of found) expectInside(diagnostic, text)
    const report = { diagnostics: found, files: 1, documents: 1, skipped: [], textOf: () => text, cwd: '/' }
    const printed = renderText(report, { paint: plainPaint, maxProblems: 0, width: 40 })
    expect(printed.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
  }
})
