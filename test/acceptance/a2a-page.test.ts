import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { docPage } from '../helpers/doc-page.ts'

const root = new URL('../../', import.meta.url)
const page = docPage('a2a.md')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-page-'))
  for (const [, name, text] of page.text.matchAll(/^```yaml\n# (\S+)\n([\s\S]*?)^```$/gm)) {
    writeFileSync(join(folder, name as string), text as string)
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

const SAYS = { test: '1 passed', route: 'a2a applied, at the backend: tasks/get' }

test.each(page.commands)('docs/a2a.md: $line', async ({ argv }) => {
  const io = memoryIo({ cwd: folder })
  const command = argv[0] as keyof typeof SAYS
  const more = command === 'route' ? ['-f', 'gateway.yaml'] : []
  expect([await main([...argv, ...more], io, root), io.stderr.text]).toEqual([0, ''])
  expect(io.stdout.text).toContain(SAYS[command])
})
