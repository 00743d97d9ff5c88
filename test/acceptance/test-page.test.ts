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

/** The files of a page, by the name in their first line, which counts as one. */
function filesOf(page: string): string[] {
  const text = readFileSync(new URL(`docs/${page}`, root), 'utf8')
  const files = [...text.matchAll(/^```yaml\n# (\S+\.yaml)\n([\s\S]*?)^```$/gm)]
  for (const [, name, content] of files) writeFileSync(join(folder, name as string), `# ${name}\n${content}`)
  return files.map(([, name]) => name as string)
}

test('the files in docs/test.md pass, and fail as documented', async () => {
  const page = readFileSync(new URL('docs/test.md', root), 'utf8')
  expect(filesOf('test.md')).toEqual(['gateway.yaml', 'chat.gwtest.yaml'])
  expect(await gwctl(folder)).toMatchObject({ code: 0, out: expect.stringContaining('✓ 5 passed'), err: '' })
  const config = readFileSync(join(folder, 'gateway.yaml'), 'utf8')
  writeFileSync(join(folder, 'gateway.yaml'), config.replace('maxTokens: 2', 'maxTokens: 3'))
  const said = /^```\n(chat\.gwtest\.yaml\n[\s\S]*?)^```$/m.exec(page)?.[1]
  expect((await gwctl(folder, '--filter', 'third')).out).toContain(said)
})

test('the shipped examples pass', async () => {
  const { code, out } = await gwctl(new URL('examples', root).pathname)
  expect(out).toContain('6 passed in 1 file')
  expect(code).toBe(0)
})

test('docs/mcp-authentication.md shows how to test whose token a target receives', async () => {
  expect(filesOf('mcp-authentication.md')).toEqual(['tools.yaml', 'tools.gwtest.yaml'])
  expect(await gwctl(folder)).toMatchObject({ code: 0, out: expect.stringContaining('✓ 2 passed') })
  // A file that would lend one user's token to all fails.
  const config = readFileSync(join(folder, 'tools.yaml'), 'utf8')
  const shared = config.replace(/oauthTokenExchange: .*/, 'key: one-for-all')
  expect(shared).not.toBe(config)
  writeFileSync(join(folder, 'tools.yaml'), shared)
  const failed = await gwctl(folder)
  expect([failed.code, failed.out]).toEqual([1, expect.stringContaining('upstream.header.authorization')])
})

test('docs/mcp-sign-in.md shows how to prove whose token a target gets', async () => {
  expect(filesOf('mcp-sign-in.md')).toEqual(['users.yaml', 'users.gwtest.yaml'])
  expect(await gwctl(folder)).toMatchObject({ code: 0, out: expect.stringContaining('✓ 4 passed') })
  const config = readFileSync(join(folder, 'users.yaml'), 'utf8')
  const shared = config.replace(/signIn: .*/, 'policies: {backendAuth: {key: one-for-all}}')
  expect(shared).not.toBe(config)
  writeFileSync(join(folder, 'users.yaml'), shared)
  const failed = await gwctl(folder)
  expect([failed.code, failed.out]).toEqual([1, expect.stringContaining('upstream.header.authorization')])
})

test('docs/refusals.md shows the replies clients receive', async () => {
  expect(filesOf('refusals.md')).toEqual(['refusals.yaml', 'refusals.gwtest.yaml'])
  expect(await gwctl(folder)).toMatchObject({ code: 0, out: expect.stringContaining('✓ 2 passed'), err: '' })
})
