import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { type ScriptedServer, startScript } from '../backends/mcp/scripted-server.ts'
import { memoryIo } from '../cli/memory-io.ts'

const root = new URL('../../', import.meta.url)
const folder = mkdtempSync(join(tmpdir(), 'gwctl-lock-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let up: ScriptedServer
let tools: object[]
beforeAll(async () => {
  up = await startScript(({ method, params }) => {
    if (method !== 'tools/list') return undefined
    return params?.cursor === undefined ? { tools, nextCursor: 'more' } : { tools: [{ name: 'last', inputSchema: {} }] }
  })
})
afterAll(() => up.close())

beforeEach(() => {
  tools = [{ name: 'add', description: 'Adds', inputSchema: {}, _meta: { build: 7 } }]
  rmSync(join(folder, 'tools.lock.json'), { force: true })
})

function configure(url: string, lock = 'toolLock: tools.lock.json, ', names = ['up']): void {
  const routes = names.map(name => {
    const mcp = `mcp: {${lock}targets: [{name: ${name}, mcp: {host: "${url}"}}]}`
    return `{matches: [{path: {pathPrefix: /${name}}}], backends: [{${mcp}}]}`
  })
  writeFileSync(join(folder, 'g.yaml'), `binds:\n- port: 3000\n  listeners:\n  - routes: [${routes.join(', ')}]\n`)
}

async function run(...argv: string[]) {
  const io = memoryIo({ cwd: folder })
  const code = await main(argv, io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

const lock = () => readFileSync(join(folder, 'tools.lock.json'), 'utf8')

test('mcp lock writes every page of tools, and leaves an up-to-date file alone', async () => {
  configure(up.url)
  const first = await run('mcp', 'lock', '-f', 'g.yaml')
  expect([first.code, first.out, first.err]).toEqual([0, 'tools.lock.json: 2 tools, written\n', ''])
  expect(JSON.parse(lock())).toEqual({
    onChange: 'refuse',
    targets: { up: { add: { description: 'Adds', inputSchema: {} }, last: { inputSchema: {} } } },
  })
  expect((await run('mcp', 'lock', '-f', 'g.yaml')).out).toBe('tools.lock.json: 2 tools, unchanged\n')
  expect((await run('validate', 'g.yaml')).code).toBe(0)
})

test('mcp lock keeps the onChange setting unless told otherwise', async () => {
  configure(up.url)
  await run('mcp', 'lock', '-f', 'g.yaml', '--on-change', 'hide')
  tools = []
  await run('mcp', 'lock', '-f', 'g.yaml')
  expect(JSON.parse(lock())).toEqual({ onChange: 'hide', targets: { up: { last: { inputSchema: {} } } } })
})

test('backends may share a lock file', async () => {
  configure(up.url, undefined, ['one', 'two'])
  expect((await run('mcp', 'lock', '-f', 'g.yaml')).out).toBe('tools.lock.json: 4 tools, written\n')
  expect(Object.keys(JSON.parse(lock()).targets)).toEqual(['one', 'two'])
})

test('two targets of the same name must have the same tools', async () => {
  configure(up.url, undefined, ['up', 'up'])
  const { code, out } = await run('mcp', 'lock', '-f', 'g.yaml')
  expect([code, out]).toEqual([0, 'tools.lock.json: 2 tools, written\n'])
  let asked = 0
  tools = [
    {
      name: 'add',
      inputSchema: {},
      get description() {
        return `as of ${asked++}`
      },
    },
  ]
  const changing = await run('mcp', 'lock', '-f', 'g.yaml')
  expect([changing.code, changing.err]).toEqual([3, expect.stringContaining('two targets `up` have different tools')])
})

test('a target that does not answer leaves the lock file unchanged', async () => {
  configure(up.url)
  await run('mcp', 'lock', '-f', 'g.yaml')
  const before = lock()
  configure('http://127.0.0.1:1/mcp')
  const { code, err } = await run('mcp', 'lock', '-f', 'g.yaml')
  expect([code, err]).toEqual([4, expect.stringContaining('the target `up`')])
  expect(lock()).toBe(before)
})

test('a configuration without a lock gets a hint on how to add one', async () => {
  configure(up.url, '')
  const { code, err } = await run('mcp', 'lock', '-f', 'g.yaml')
  expect([code, err]).toEqual([3, expect.stringContaining('toolLock: tools.lock.json')])
})

test('an invalid lock file is a finding, and can be rewritten', async () => {
  configure(up.url)
  writeFileSync(join(folder, 'tools.lock.json'), '{"onChange": "maybe", "targets": {}}')
  const { code, out } = await run('validate', 'g.yaml')
  expect([code, out]).toEqual([1, expect.stringContaining('GW207')])
  expect((await run('mcp', 'lock', '-f', 'g.yaml')).out).toBe('tools.lock.json: 2 tools, written\n')
  expect(JSON.parse(lock()).onChange).toBe('refuse')
})
