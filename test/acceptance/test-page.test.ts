import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { memoryIo } from '../cli/memory-io.ts'

const root = new URL('../../', import.meta.url)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-page-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function gwctl(cwd: string, ...argv: string[]) {
  const io = memoryIo({ cwd })
  return { code: await main(['test', ...argv], io, root), out: io.stdout.text, err: io.stderr.text }
}

test('the files of docs/test.md pass, and fail as it says', async () => {
  const page = readFileSync(new URL('docs/test.md', root), 'utf8')
  const files = [...page.matchAll(/^```yaml\n# (\S+)\n([\s\S]*?)^```$/gm)].map(([, name, text]) => ({ name, text }))
  expect(files.map(({ name }) => name)).toEqual(['gateway.yaml', 'chat.gwtest.yaml'])
  // The line with the name counts.
  for (const { name, text } of files) writeFileSync(join(folder, name as string), `# ${name}\n${text}`)
  expect(await gwctl(folder)).toMatchObject({ code: 0, out: expect.stringContaining('✓ 5 passed'), err: '' })
  const config = readFileSync(join(folder, 'gateway.yaml'), 'utf8')
  writeFileSync(join(folder, 'gateway.yaml'), config.replace('maxTokens: 2', 'maxTokens: 3'))
  const said = /^```\n(chat\.gwtest\.yaml\n[\s\S]*?)^```$/m.exec(page)?.[1]
  expect((await gwctl(folder, '--filter', 'third')).out).toContain(said)
})

test('the example passes', async () => {
  const { code, out } = await gwctl(new URL('examples', root).pathname)
  expect(out).toContain('6 passed in 1 file')
  expect(code).toBe(0)
})
