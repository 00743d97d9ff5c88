import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { LOG_MODULES } from '../../src/runtime/log-modules.ts'
import { memoryIo } from './memory-io.ts'

const root = new URL('../../', import.meta.url)
const cwd = mkdtempSync(join(tmpdir(), 'gwctl-silence-'))
afterAll(() => rmSync(cwd, { recursive: true, force: true }))

const CONFIG = `binds:
- port: 3000
  listeners:
  - routes:
    - policies: {directResponse: {status: 200, body: hello}}
`
const RESOURCES = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: prod}
spec:
  gatewayClassName: agentgateway
  listeners: [{name: http, port: 8080, protocol: HTTP}]
`
beforeAll(() => {
  mkdirSync(join(cwd, 'k8s'))
  writeFileSync(join(cwd, 'gw.yaml'), CONFIG)
  writeFileSync(join(cwd, 'k8s/gateway.yaml'), RESOURCES)
})

async function gwctl(line: string, stdin = '') {
  const io = memoryIo({ cwd, stdin })
  const code = await main(line.split(' '), io, root)
  return { code, stdout: io.stdout.text, stderr: io.stderr.text }
}

describe('empty stdin', () => {
  const commands = [
    'validate -',
    'run -f -',
    'translate -f -',
    'test -',
    'route -f - /',
    'diff - gw.yaml',
    'dump -f -',
    'eval -',
  ]

  test.each(commands)('is an error for %s', async line => {
    expect(await gwctl(line)).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('stdin is empty.') })
  })

  test('is an error for trace, which reports no trace events', async () => {
    expect(await gwctl('trace -f -')).toMatchObject({ code: 3, stderr: expect.stringContaining('no trace events') })
  })

  test.each(['# Source: chart/templates/gw.yaml\n', '---\n# nothing\n---\n', '\r\n  # x\r\n...\r\n'])(
    'includes input of comments only: %j',
    async stdin => {
      expect(await gwctl('validate -', stdin)).toMatchObject({ code: 3 })
    },
  )

  test('is accepted with --allow-empty and in a hook', async () => {
    expect(await gwctl('validate --allow-empty -')).toMatchObject({ code: 0 })
    expect(await gwctl('validate --hook -')).toMatchObject({ code: 0 })
  })

  test('does not include input with a configuration', async () => {
    expect(await gwctl('validate -', `---\n# a comment\n${CONFIG}`)).toMatchObject({ code: 0 })
    expect(await gwctl('validate -', '--- {binds: []}')).not.toMatchObject({ code: 3 })
  })
})

describe('an unknown name', () => {
  test('of a Gateway to translate is rejected with a suggestion', async () => {
    const { code, stdout, stderr } = await gwctl('translate -f k8s --gateway prod/egde')
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain('the input holds no Gateway prod/egde: did you mean `prod/edge`?')
    expect(await gwctl('translate -f k8s --gateway prod/edge')).toMatchObject({ code: 0 })
  })

  test('of a log module is rejected before a gateway is called', async () => {
    const { code, stderr } = await gwctl('log --set nope=debug --admin http://127.0.0.1:1')
    expect(code).toBe(2)
    expect(stderr).toContain('nothing logs as nope.')
    expect(await gwctl('log --set reqest=off')).toMatchObject({ stderr: expect.stringContaining('`request`') })
    expect(await gwctl('log --set gateway --admin 127.0.0.1:1')).toMatchObject({ code: 2 })
    // Known ones get as far as the connection.
    expect(await gwctl('log --set gateway::mcp=debug --admin http://127.0.0.1:1')).toMatchObject({ code: 4 })
  })

  test('every logging module is known', () => {
    const folder = new URL('src/', root).pathname
    const found = globSync('**/*.ts', { cwd: folder }).flatMap(file => {
      const text = readFileSync(join(folder, file), 'utf8')
      const own = [...text.matchAll(/\.(?:logger|recorder)\('([^']+)'\)/g)].map(([, name]) => name)
      return [...own, ...[...text.matchAll(/\.child\('([^']+)'\)/g)].map(([, name]) => `gateway::${name}`)]
    })
    expect([...new Set([...found, 'log'])].sort()).toEqual(Object.keys(LOG_MODULES).sort())
  })
})

test('--expect reports what came instead', async () => {
  expect(await gwctl('route -f gw.yaml / --expect 403')).toMatchObject({
    code: 1,
    stderr: 'gwctl route: expected 403, got 200.\n',
  })
  expect(await gwctl('route -f gw.yaml / --expect 200')).toMatchObject({ code: 0, stderr: '' })
})

test('a refused run ends with the reason, not with a tick', async () => {
  writeFileSync(join(cwd, 'unset.yaml'), CONFIG.replace('hello', '$GWCTL_NOT_SET'))
  const { code, stderr } = await gwctl('run -f unset.yaml')
  expect(code).toBe(1)
  expect(stderr).not.toContain('✓')
  expect(stderr.trimEnd().split('\n').at(-1)).toBe(
    'gwctl run: unset.yaml is not served: see the findings above. No port was opened.',
  )
})

test('route treats unset variables and missing files as unknown, as diff does', async () => {
  const text = CONFIG.replace(
    'policies: {directResponse',
    'policies: {basicAuth: {mode: optional, realm: r, htpasswd: {file: missing.htpasswd}}, directResponse',
  ).replace('hello', '$GWCTL_NOT_SET')
  writeFileSync(join(cwd, 'lacking.yaml'), text)
  const { code, stdout } = await gwctl('route -f lacking.yaml /')
  expect(code).toBe(0)
  expect(stdout).toContain('the value of $GWCTL_NOT_SET, which is not set, assumed a placeholder')
  expect(stdout).toContain('what `missing.htpasswd` holds, which cannot be read, assumed nothing')
  expect(await gwctl('diff lacking.yaml lacking.yaml')).toMatchObject({ code: 0 })
  const cases = 'config: lacking.yaml\ncases: [{name: a, request: {path: /}, expect: {status: 200}}]\n'
  writeFileSync(join(cwd, 'a.gwtest.yaml'), cases)
  expect(await gwctl('test a.gwtest.yaml')).toMatchObject({ code: 0 })
})

test('dump --config shows the effective configuration of a file without a running gateway', async () => {
  const { code, stdout } = await gwctl('dump routes --config gw.yaml')
  expect(code).toBe(0)
  expect(stdout).toContain('directResponse')
  expect(await gwctl('dump --config k8s -o json')).toMatchObject({ code: 0, stdout: expect.stringContaining('8080') })
  expect(await gwctl('dump --config -', 'binds: 3')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('<stdin>:1:8: error GW101'),
  })
  expect(await gwctl('dump -f gw.yaml')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('`gwctl dump --config gw.yaml` shows what it comes to.'),
  })
})

test('files can be given as arguments or with -f', async () => {
  const dump = (await gwctl('dump --config gw.yaml -o json')).stdout
  writeFileSync(join(cwd, 'dump.json'), dump)
  const alike: [string, string][] = [
    ['route -f gw.yaml GET / --at 2026-01-01', 'route gw.yaml GET / --at 2026-01-01'],
    ['dump routes -f dump.json', 'dump routes dump.json'],
    ['dump -f dump.json', 'dump dump.json'],
    ['diff -f gw.yaml -f dump.json', 'diff gw.yaml dump.json'],
    ['trace -f gw.yaml', 'trace gw.yaml'],
    ['run -f missing.yaml', 'run missing.yaml'],
    ['translate -f k8s', 'translate k8s'],
    ['validate -f gw.yaml', 'validate gw.yaml'],
  ]
  for (const [flag, word] of alike) expect(await gwctl(word), word).toEqual(await gwctl(flag))
  expect(await gwctl('run gw.yaml -f gw.yaml')).toMatchObject({ code: 2 })
  expect(await gwctl('run')).toMatchObject({ code: 2, stderr: expect.stringContaining('no file is named.') })
  expect(await gwctl('route GET /')).toMatchObject({ code: 2, stderr: expect.stringContaining('no file is named.') })
})
