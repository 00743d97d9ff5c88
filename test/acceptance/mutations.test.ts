import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { load } from '../../src/config/load.ts'
import { offlineRuntime } from '../../src/config/offline-runtime.ts'
import type { Diagnostic } from '../../src/diagnostics/diagnostic.ts'
import { KINDS, type Kind, type Mistake, mistakesIn, randomFrom, sampleValues } from './single-mistakes.ts'

const COUNT = 500
const SEED = 20_260_701

const files = ['ok', 'realistic'].flatMap(folder => {
  const root = new URL(`../../fixtures/${folder}/`, import.meta.url)
  return readdirSync(root)
    .filter(name => name.endsWith('.yaml'))
    .sort()
    .map(name => ({ name: `${folder}/${name}`, text: readFileSync(new URL(name, root), 'utf8') }))
    .filter(({ text }) => !/[&*][a-z]\w*$/m.test(text)) // a mistake in an anchor is one at every alias
})

interface Row {
  made: number
  inPlace: number
  alone: number
}

async function check(text: string): Promise<readonly Diagnostic[]> {
  const options = { env: {}, tier: 'offline', runtime: offlineRuntime(), readReferenced: () => undefined } as const
  return (await load('config.yaml', text, options)).diagnostics
}

/** As many of each kind as there are of the rarest, and of the others to fill up. */
function chosen(): Mistake[] {
  const random = randomFrom(SEED)
  const samples = sampleValues(files.map(file => file.text))
  const all = files.flatMap(file => mistakesIn(file.name, file.text, samples, random))
  const shuffled = all.map(mistake => [random(), mistake] as const).sort(([a], [b]) => a - b)
  const queues = KINDS.map(kind => shuffled.flatMap(([, mistake]) => (mistake.kind === kind ? [mistake] : [])))
  const out: Mistake[] = []
  while (out.length < COUNT) for (const queue of queues) out.push(...queue.splice(0, 1))
  return out.slice(0, COUNT)
}

describe('one mistake in a valid file', () => {
  test('is the only finding and is reported on its line', async () => {
    const before = new Map<string, readonly Diagnostic[]>()
    for (const { name, text } of files) before.set(name, await check(text))
    const table = new Map<Kind, Row>(KINDS.map(kind => [kind, { made: 0, inPlace: 0, alone: 0 }]))
    const strays: string[] = []
    for (const mistake of chosen()) {
      const base = before.get(mistake.what.split(':')[0]!)!
      const known = base.map(d => `${d.code} ${d.message}`)
      const found = (await check(mistake.text)).filter(d => !known.includes(`${d.code} ${d.message}`))
      const row = table.get(mistake.kind)!
      const [first, last] = mistake.lines
      const line = found[0]?.range.start.line ?? 0
      const inPlace = line >= first && line <= last
      row.made++
      if (inPlace) row.inPlace++
      if (found.length === 1) row.alone++
      if (!inPlace || found.length !== 1)
        strays.push(
          `${mistake.kind}: ${mistake.what} (line ${first}-${last})\n${found.map(d => `    ${d.range.start.line} ${d.code} ${d.message}`).join('\n')}`,
        )
    }
    const sum = (key: keyof Row) => [...table.values()].reduce((total, row) => total + row[key], 0)
    const rows = [...table].map(([kind, row]) => `${kind.padEnd(26)}${row.made}\t${row.inPlace}\t${row.alone}`)
    const head = `mistakes                  made\tin place\talone`
    const foot = `in place ${sum('inPlace')}, alone ${sum('alone')} of ${sum('made')}; the others:`
    console.log([head, ...rows, foot, ...strays].join('\n'))
    expect(sum('made')).toBe(COUNT)
    expect(sum('inPlace') / COUNT).toBeGreaterThanOrEqual(0.98)
    expect(sum('alone') / COUNT).toBeGreaterThanOrEqual(0.95)
  })
})
