import { expect, test } from 'vitest'
import { createCelCompiler } from '../../../src/cel/compiler.ts'
import { createPatternCompiler } from '../../../src/cel/pattern.ts'
import { checkResources } from '../../../src/cluster/resources/check.ts'
import type { Diagnostic } from '../../../src/diagnostics/diagnostic.ts'
import { parseSource } from '../../../src/diagnostics/source.ts'
import { KINDS, type Kind, type Mistake } from '../../acceptance/single-mistakes.ts'
import { mistakesInResources } from './resource-mistakes.ts'

const COUNT = 300
const mistakes = mistakesInResources(20_260_821)
const engines = { cel: createCelCompiler(), patterns: createPatternCompiler() }

async function check(text: string): Promise<readonly Diagnostic[]> {
  const source = parseSource('k8s.yaml', text)
  const { diagnostics } = await checkResources([{ file: 'k8s.yaml', source }], { partial: false, ...engines })
  return [...source.diagnostics, ...diagnostics].filter(({ severity }) => severity !== 'info')
}

/** As many of each kind as there are of the rarest, and of the others to fill up. */
function chosen(): readonly Mistake[] {
  const queues = KINDS.map(kind => mistakes.filter(mistake => mistake.kind === kind))
  const out: Mistake[] = []
  while (out.length < COUNT && queues.some(({ length }) => length > 0)) {
    for (const queue of queues) out.push(...queue.splice(0, 1))
  }
  return out.slice(0, COUNT)
}

test('every mistake produces a finding', async () => {
  const unseen: string[] = []
  for (const { what, text } of mistakes) if ((await check(text)).length === 0) unseen.push(what)
  expect(unseen).toEqual([])
})

test('one mistake in valid resources is found on its line, nearly always as the only finding', async () => {
  const table = new Map<Kind, [made: number, inPlace: number, alone: number]>(KINDS.map(kind => [kind, [0, 0, 0]]))
  const strays: string[] = []
  for (const { kind, what, text, lines } of chosen()) {
    const found = await check(text)
    const line = found[0]?.range.start.line ?? 0
    const inPlace = line >= lines[0] && line <= lines[1]
    const row = table.get(kind)!
    row[0]++
    if (inPlace) row[1]++
    if (found.length === 1) row[2]++
    if (inPlace && found.length === 1) continue
    const each = found.map(({ range, code, message }) => `    ${range.start.line} ${code} ${message}`)
    strays.push([`${kind}: ${what} (line ${lines.join('-')})`, ...each].join('\n'))
  }
  const [made, inPlace, alone] = [0, 1, 2].map(at => [...table.values()].reduce((sum, row) => sum + row[at]!, 0))
  const rows = [...table].map(([kind, row]) => `${kind.padEnd(26)}${row.join('\t')}`)
  console.log(
    [
      `mistakes                  made\tin place\talone`,
      ...rows,
      `in place ${inPlace}, alone ${alone} of ${made}; the others:`,
      ...strays,
    ].join('\n'),
  )
  expect(made).toBe(COUNT)
  expect(inPlace! / COUNT).toBeGreaterThanOrEqual(0.98)
  expect(alone! / COUNT).toBeGreaterThanOrEqual(0.9)
})
