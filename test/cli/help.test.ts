import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { commandHelp } from '../../src/cli/help.ts'
import { main } from '../../src/cli/main.ts'
import { readManifest } from '../../src/cli/manifest.ts'
import { MemoryOutput, memoryIo } from './memory-io.ts'

const root = new URL('../../', import.meta.url)
const ids = Object.keys(COMMANDS)

function page(id: string, columns: number): string {
  return commandHelp(id, root, { ...memoryIo(), stdout: new MemoryOutput({ columns }) })
}

function section(text: string, header: RegExp): string {
  const from = text.split('\n')
  const start = from.findIndex(line => header.test(line))
  const end = from.findIndex((line, i) => i > start && /^[A-Z ]+$/.test(line))
  return from.slice(start + 1, end < 0 ? undefined : end).join('\n')
}

test.each(ids)('%s fits an 80-column terminal', id => {
  expect(
    page(id, 80)
      .split('\n')
      .filter(line => line.length > 80),
  ).toEqual([])
})

test('piped help uses COLUMNS as its width when it is valid', () => {
  const widest = (env: Record<string, string>) =>
    Math.max(
      ...commandHelp('route', root, memoryIo({ env }))
        .split('\n')
        .map(line => line.length),
    )
  expect(widest({ COLUMNS: '80' })).toBeLessThanOrEqual(80)
  for (const env of [{}, { COLUMNS: '' }, { COLUMNS: '0' }, { COLUMNS: 'wide' }])
    expect(widest(env)).toBeGreaterThan(80)
})

test.each([...ids, ''])('%s: help is ASCII on an ASCII terminal', async id => {
  const io = memoryIo({ terminal: true, env: { LC_ALL: 'C', NO_COLOR: '1' } })
  expect(await main(id === '' ? [] : [id, '--help'], io, root)).toBe(0)
  expect(io.stdout.text).toMatch(/^[\n -~]+$/)
})

test.each(ids)('%s: the flags of each section are aligned', id => {
  for (const header of [/^FLAGS$/, /^CLUSTER FLAGS$/]) {
    const lines = section(page(id, 80), header).split('\n')
    const columns = lines.flatMap(line => /^ {2}(?:-\w, | {4})?--/.exec(line)?.[0].length ?? [])
    expect(new Set(columns).size, header.source).toBeLessThanOrEqual(1)
  }
})

test.each(ids)('%s: copied examples work in a shell despite line breaks', id => {
  const examples = readManifest(root).commands[id]?.examples ?? []
  for (const columns of [40, 80]) {
    const copied = section(page(id, columns), /^EXAMPLES$/).replaceAll(/ \\\n */g, ' ')
    for (const example of examples) {
      expect(copied).toContain(typeof example === 'string' ? example : example.command)
    }
  }
})

test('usage shows the arguments of a command', () => {
  expect(page('run', 80)).toContain('$ gwctl run [PATH] [flags]\n')
  expect(page('profile', 80)).toContain('$ gwctl profile KIND [flags]\n')
})

test('the values a flag accepts are listed in the text', () => {
  expect(page('eval', 80).replaceAll(/\s+/g, ' ')).toContain(
    'One of request, response, llm, mcp, usage, log, connection, target.',
  )
})
