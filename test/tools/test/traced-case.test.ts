import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Io } from '../../../src/cli/io.ts'
import { main } from '../../../src/cli/main.ts'
import { startAdmin } from '../../../src/engine/admin/server.ts'
import { memoryIo } from '../../cli/memory-io.ts'
import { FakeGateway } from '../../engine/admin/running-admin.ts'
import { FakeKeyboard, FakeScreen } from '../../helpers/fake-terminal.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream } from '../../helpers/upstream.ts'

const root = new URL('../../../', import.meta.url)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-traced-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function runTests() {
  const io = memoryIo({ cwd: folder })
  const code = await main(['test'], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

test('a request that a real gateway has served, saved with t, is a case that holds until the configuration changes', async () => {
  await using upstream = await startUpstream((_request, response) => response.writeHead(202).end('taken'))
  const config = `binds:
- port: 3000
  listeners:
  - routes:
    - name: orders
      matches: [{path: {pathPrefix: /orders}}]
      policies:
        authorization:
          rules:
          - 'request.headers["x-team"] == "sales"'
      backends: [{host: '127.0.0.1:${upstream.port}'}]
- port: 3001
  listeners: [{routes: [{policies: {directResponse: {status: 200}}}]}]
`
  await using gateway = await startGateway(config)
  const admin = await startAdmin('127.0.0.1:0', Object.assign(new FakeGateway(), { trace: gateway.trace }))
  const base = memoryIo({ cwd: folder, env: { GWCTL_ADMIN: admin.address } })
  const screen = new FakeScreen()
  const keyboard = new FakeKeyboard()
  const io: Io = { ...base, stdin: keyboard, stdout: screen, interruption: () => base.stop.signal }
  const traced = main(['trace'], io, root)
  await screen.until(shown => shown.includes('waiting for a request'))
  const sent = { method: 'POST', headers: { 'x-team': 'sales', authorization: 'Bearer secret' }, body: 'a: 1' }
  expect((await fetch(`${gateway.url(3000)}/orders?new`, sent)).status).toBe(202)
  await screen.until(shown => shown.includes('/orders?new') && shown.includes('202 in '))
  keyboard.write('t')
  await expect.poll(() => readdirSync(folder)).toEqual(['post-orders-new.gwtest.yaml'])
  keyboard.write('q')
  await traced
  await admin.close()

  const saved = readFileSync(join(folder, 'post-orders-new.gwtest.yaml'), 'utf8')
  expect(saved).not.toContain('secret')
  expect(parse(saved)).toMatchObject({ config: 'test.yaml', cases: [{ expect: { status: 202 } }] })
  writeFileSync(join(folder, 'test.yaml'), config)
  expect(await runTests()).toMatchObject({ code: 0, err: '' })

  writeFileSync(join(folder, 'test.yaml'), config.replace('"sales"', '"support"'))
  const { code, out } = await runTests()
  expect(code).toBe(1)
  expect(out).toContain('status  expected 202, got 403')
  expect(out).toContain(
    'decided by authorization: deny: allow request.headers["x-team"] == "support" did not match  test.yaml:8',
  )
})
