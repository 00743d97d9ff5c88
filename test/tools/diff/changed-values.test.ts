import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { main } from '../../../src/cli/main.ts'
import { memoryIo } from '../../cli/memory-io.ts'

const root = new URL('../../../', import.meta.url)
const fixtures = fileURLToPath(new URL('fixtures/realistic/', root))

type Path = readonly (string | number)[]

/** Compares two values as files in one folder. */
function comparer() {
  const folder = mkdtempSync(join(tmpdir(), 'gwctl-diff-'))
  return {
    async compare(before: unknown, after: unknown): Promise<number> {
      writeFileSync(join(folder, 'a.json'), JSON.stringify(before))
      writeFileSync(join(folder, 'b.json'), JSON.stringify(after))
      const io = memoryIo({ cwd: folder })
      const code = await main(['diff', 'a.json', 'b.json', '--structural'], io, root)
      if (code === 3) return 3
      expect(io.stderr.text).toBe('')
      return code
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  }
}

/** One leaf of each kind of place. */
function leavesOf(value: unknown): Path[] {
  const found = new Map<string, Path>()
  const walk = (at: unknown, path: Path): void => {
    if (typeof at !== 'object' || at === null) {
      const place = path.filter(step => typeof step === 'string').join('.')
      if (!found.has(place)) found.set(place, path)
    } else if (Array.isArray(at)) for (const [i, item] of at.entries()) walk(item, [...path, i])
    else for (const [key, item] of Object.entries(at)) walk(item, [...path, key])
  }
  walk(value, [])
  return [...found.values()]
}

function changedAt(value: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return changedLeaf(value)
  if (Array.isArray(value)) return value.map((item, i) => (i === step ? changedAt(item, rest) : item))
  return Object.fromEntries(
    Object.entries(value as object).map(([key, item]) => [key, key === step ? changedAt(item, rest) : item]),
  )
}

function changedLeaf(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  return /^\d+(ms|s|m|h)$/.test(String(value)) ? '17s' : `${String(value)}x`
}

describe('changing any meaningful config value is reported', () => {
  test.each(readdirSync(fixtures).filter(name => name.endsWith('.yaml')))('%s', async name => {
    using files = comparer()
    const value: unknown = parse(readFileSync(`${fixtures}${name}`, 'utf8'), { merge: true })
    expect(await files.compare(value, JSON.parse(JSON.stringify(value)))).toBe(0)
    const silent: string[] = []
    let compared = 0
    for (const path of leavesOf(value)) {
      const code = await files.compare(value, changedAt(value, path))
      // Some values must be what they are for the file to be right.
      if (code !== 3) compared++
      if (code === 0) silent.push(path.join('.'))
    }
    expect(silent).toEqual([])
    expect(compared).toBeGreaterThan(10)
  })
})
