import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import type { Listening } from '../../src/engine/admin/listen.ts'
import { startAdmin } from '../../src/engine/admin/server.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { FakeGateway } from '../engine/admin/running-admin.ts'
import { ownPort } from '../helpers/own-port.ts'

const root = new URL('../../', import.meta.url)
const DUMP = {
  binds: [{ key: 'bind/3000', listeners: { http: { hostname: '*', tls: null } } }],
  routes: {},
  backends: [],
  policies: [{ key: 'p', policy: { apiKey: { keys: [{ key: '<redacted>' }] } } }],
  version: { version: 'yes', ratio: 0.5, ported: '012' },
}
const YAML = `binds:
  - key: bind/3000
    listeners:
      http:
        hostname: "*"
        tls: null
routes: {}
backends: []
policies:
  - key: p
    policy:
      apiKey:
        keys:
          - key: <redacted>
version:
  version: "yes"
  ratio: 0.5
  ported: "012"
`

let folder: string
let gateway: FakeGateway
let admin: Listening

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-dump-'))
  gateway = new FakeGateway()
  gateway.dumped = DUMP
  admin = await startAdmin(`127.0.0.1:${await ownPort()}`, gateway)
})

afterEach(async () => {
  await admin.close()
  rmSync(folder, { recursive: true })
})

async function gwctl(argv: string[], options: Parameters<typeof memoryIo>[0] = {}) {
  const io = memoryIo({ cwd: folder, ...options })
  const code = await main(['dump', ...argv], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

describe('a running gateway', () => {
  test('prints YAML by default', async () => {
    expect(await gwctl(['--admin', `http://${admin.address}`])).toEqual({ code: 0, out: YAML, err: '' })
  })

  test('prints JSON, with the address from the environment', async () => {
    const { code, out } = await gwctl(['-o', 'json'], { env: { GWCTL_ADMIN: admin.address } })
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual(DUMP)
  })

  test('is reached through a Unix socket', async () => {
    const server = await startAdmin(`unix:${join(folder, 'admin.sock')}`, gateway)
    const { code, out } = await gwctl(['--admin', `unix:${join(folder, 'admin.sock')}`])
    await server.close()
    expect({ code, out }).toEqual({ code: 0, out: YAML })
  })

  test('is dumped to a file that reads back the same', async () => {
    await gwctl(['--admin', admin.address, '-o', 'yaml=dump.yaml'])
    expect(readFileSync(join(folder, 'dump.yaml'), 'utf8')).toBe(YAML)
    expect(JSON.parse((await gwctl(['-f', 'dump.yaml', '-o', 'json'])).out)).toEqual(DUMP)
  })

  test('an unreachable address exits with 4, showing the address and a hint', async () => {
    const { address } = admin
    await admin.close()
    const { code, out, err } = await gwctl(['--admin', `http://${address}`])
    expect({ code, out }).toEqual({ code: 4, out: '' })
    expect(err).toContain(`no gateway answers at http://${address}: connection refused.`)
    expect(err).toContain('`gwctl run`')
    expect(err).toContain('GWCTL_ADMIN')
  })

  test('a different server exits with 4', async () => {
    const other = createServer((request, response) => {
      if (request.url === '/html/config_dump') response.end('<html>')
      else if (request.url === '/list/config_dump') response.end('[]')
      else response.writeHead(404).end('nothing here')
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => other.once('listening', resolve))
    const base = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    for (const [path, words] of [
      ['', 'answered 404 (nothing here)'],
      ['/html', 'something else than JSON'],
      ['/list/', 'is not a configuration dump'],
    ] as const) {
      const { code, err } = await gwctl(['--admin', base + path])
      expect(code).toBe(4)
      expect(err).toContain(words)
    }
    other.close()
  })

  test('credentials in the URL stay out of the message', async () => {
    const { code, err } = await gwctl(['--admin', 'http://user:hunter2@127.0.0.1:1/'])
    expect(code).toBe(4)
    expect(err).not.toContain('hunter2')
  })

  test.each([['ftp://127.0.0.1'], ['http://'], ['http://[::1']])('%s is a usage error', async url => {
    expect((await gwctl(['--admin', url])).code).toBe(2)
  })
})

describe('a saved dump', () => {
  const save = (text: string | Buffer) => writeFileSync(join(folder, 'dump.json'), text)

  test('is read from a file', async () => {
    save(JSON.stringify(DUMP))
    expect(await gwctl(['--file', 'dump.json', '--output', 'yaml'])).toEqual({ code: 0, out: YAML, err: '' })
  })

  test('is read from stdin', async () => {
    expect((await gwctl(['-f', '-'], { stdin: JSON.stringify(DUMP) })).out).toBe(YAML)
  })

  test('keeps a `__proto__` key', async () => {
    save(`{"binds": [], "routes": {}, "config": {"__proto__": {"a": 1}}}`)
    expect((await gwctl(['-f', 'dump.json'])).out).toContain('__proto__:\n    a: 1')
  })

  test.each<[string, string | Buffer, string]>([
    ['broken JSON', '{"binds": [', 'not valid JSON'],
    ['broken YAML', 'binds: [\n', 'dump.json:'],
    ['an empty file', '', 'it is not a map'],
    ['a list', '[]', 'it is not a map'],
    ['YAML over 16 MiB', `binds: []\n${'# much\n'.repeat(2_400_000)}`, 'too large for YAML'],
    ['an unrelated document', '{"kind": "Pod"}', 'it has no binds'],
    ['a configuration file', 'binds:\n- port: 3000\n', '`gwctl validate`'],
    [
      'a configuration file with more sections',
      'backends: [{name: a, policies: {backendAuth: {key: k}}}]\nconfig: {}\nbinds: [{port: 1}]',
      '`gwctl validate`',
    ],
    ['binds that are not a list', '{"binds": 5, "routes": [], "config": {}}', 'its binds are not a list'],
    ['a binary file', Buffer.from([0, 1, 2, 3, 0]), 'binary'],
  ])('%s exits with 3', async (_, text, words) => {
    save(text)
    const { code, out, err } = await gwctl(['-f', 'dump.json'])
    expect({ code, out }).toEqual({ code: 3, out: '' })
    expect(err).toContain(words)
  })

  test('a missing file exits with 3', async () => {
    const { code, err } = await gwctl(['-f', 'nope.json'])
    expect(code).toBe(3)
    expect(err).toContain('nope.json does not exist')
  })

  test('a file together with a gateway is a usage error', async () => {
    expect((await gwctl(['-f', 'dump.json', '--local'])).code).toBe(2)
  })

  test('an unwritable output path exits with 3', async () => {
    save(JSON.stringify(DUMP))
    const { code, err } = await gwctl(['-f', 'dump.json', '-o', 'yaml=no/such/folder.yaml'])
    expect(code).toBe(3)
    expect(err).toContain('cannot write no/such/folder.yaml')
  })
})
