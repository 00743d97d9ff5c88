import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { dumpOf } from '../../src/config/dump.ts'
import { startAdmin } from '../../src/engine/admin/server.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { FakeGateway } from '../engine/admin/running-admin.ts'
import { docPage } from '../helpers/doc-page.ts'
import { startGateway } from '../helpers/gateway.ts'

const root = new URL('../../', import.meta.url)
const page = docPage('diff.md')

const CONFIG = `binds:
- port: 8080
  listeners:
  - routes:
    - name: chat
      matches: [{path: {pathPrefix: /v1}}]
      policies:
        timeout: {requestTimeout: 60s}
        localRateLimit: [{maxTokens: 5, tokensPerFill: 3, fillInterval: 60s}]
        jwtAuth: {mode: strict, issuer: i, jwks: '{"keys":[]}'}
      backends:
      - host: 127.0.0.1:1
    - name: talk
      matches: [{path: {pathPrefix: /talk}}]
      backends:
      - host: 127.0.0.1:2
`
const NEW = CONFIG.replace('60s}', '90s}')
  .replace('maxTokens: 5', 'maxTokens: 3')
  .replace('      backends:', `        authorization: {rules: [{deny: 'jwt.role == "contractor"'}]}\n      backends:`)
  .replace('talk', 'tell')

const CONFIG_MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n'

let folder: string
let admin: Awaited<ReturnType<typeof startAdmin>>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-page-'))
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args])
  writeFileSync(join(folder, 'config.yaml'), CONFIG)
  writeFileSync(join(folder, 'new.yaml'), NEW)
  mkdirSync(join(folder, 'k8s'))
  writeFileSync(join(folder, 'k8s', 'map.yaml'), CONFIG_MAP)
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'one')
  git('update-ref', 'refs/remotes/origin/main', 'HEAD')
  await using gateway = await startGateway(CONFIG.replace('8080', '0'))
  const fake = new FakeGateway()
  fake.dumped = JSON.parse(JSON.stringify(dumpOf(gateway.gateway.snapshot!, '1.0.0')))
  admin = await startAdmin('127.0.0.1:0', fake)
})
afterAll(async () => {
  await admin.close()
  rmSync(folder, { recursive: true })
})

async function gwctl(argv: readonly string[]) {
  const io = memoryIo({ cwd: folder, env: { GWCTL_ADMIN: `http://${admin.address}` } })
  const code = await main(argv, io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

test('docs/diff.md shows the actual output', async () => {
  const shown = page.shown.flatMap(lines => lines.trim().split('\n'))
  expect(shown.length).toBeGreaterThan(4)
  const { code, out } = await gwctl(['diff', 'config.yaml', 'new.yaml'])
  expect(out.split('\n')).toEqual(expect.arrayContaining(shown))
  expect(code).toBe(1)
})

test.each(page.commands)('docs/diff.md: $line', async ({ argv }) => {
  const { code, err } = await gwctl(argv)
  expect(err).not.toMatch(/^gwctl/m)
  expect([0, 1]).toContain(code)
})
