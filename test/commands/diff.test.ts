import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { dumpOf } from '../../src/config/dump.ts'
import { startAdmin } from '../../src/engine/admin/server.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { FakeGateway } from '../engine/admin/running-admin.ts'
import { startGateway } from '../helpers/gateway.ts'

const root = new URL('../../', import.meta.url)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-diff-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text)
}

async function gwctl(argv: readonly string[], options: Parameters<typeof memoryIo>[0] = {}) {
  const io = memoryIo({ cwd: folder, ...options })
  const code = await main(['diff', ...argv], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

/** Two configurations, and what the structural comparison says of them. */
async function compare(before: string, after: string): Promise<{ code: number; out: string }> {
  write('a.yaml', before)
  write('b.yaml', after)
  const { code, out, err } = await gwctl(['a.yaml', 'b.yaml', '--structural'])
  expect(err).toBe('')
  return { code, out }
}

const ROUTE = `binds:
- port: 8080
  listeners:
  - routes:
    - name: chat
      matches: [{path: {pathPrefix: /v1}}]
      policies:
        timeout: {requestTimeout: 60s}
        cors: {allowOrigins: ['https://a.example']}
        authorization:
          rules:
          - allow: 'request.method == "GET"'
      backends:
      - host: 127.0.0.1:1
`
const changed = (from: string, to: string) => ROUTE.replace(from, to)

describe('changes without effect', () => {
  test.each<[string, string]>([
    ['a comment and empty lines', `# a comment\n\n${ROUTE}`],
    [
      'the order of keys',
      changed(
        'name: chat\n      matches: [{path: {pathPrefix: /v1}}]',
        'matches: [{path: {pathPrefix: /v1}}]\n      name: chat',
      ),
    ],
    ['an explicit default', changed('host: 127.0.0.1:1', 'host: 127.0.0.1:1\n        weight: 1')],
    [
      'an explicit default of a policy',
      changed("['https://a.example']", "['https://a.example'], allowCredentials: false, allowHeaders: []"),
    ],
    ['a duration in another unit', changed('60s', '1m')],
    ['the short form of a rule', changed(`allow: 'request.method == "GET"'`, `'request.method == "GET"'`)],
    [
      'JSON instead of YAML',
      '{"binds":[{"port":8080,"listeners":[{"routes":[{"name":"chat","matches":[{"path":{"pathPrefix":"/v1"}}],"policies":{"timeout":{"requestTimeout":"60s"},"cors":{"allowOrigins":["https://a.example"]},"authorization":{"rules":[{"allow":"request.method == \\"GET\\""}]}},"backends":[{"host":"127.0.0.1:1"}]}]}]}]}',
    ],
  ])('%s', async (_, after) => {
    expect(await compare(ROUTE, after)).toEqual({ code: 0, out: 'No object differs.\n' })
  })

  test('reordered rules of the same name', async () => {
    const app = (path: string, port: number) =>
      `{name: app, matches: [{path: {exact: ${path}}}], backends: [{host: '127.0.0.1:${port}'}]}`
    const routes = (...all: string[]) => `binds: [{port: 80, listeners: [{routes: [${all.join()}]}]}]`
    const [a, b] = [app('/a', 1), app('/b', 2)]
    expect(await compare(routes(a, b), routes(b, a))).toMatchObject({ code: 0 })
    const { out } = await compare(routes(a, b), routes(a, app('/b', 3)))
    expect(out).toContain('backends[0].host: 127.0.0.1:2 → 127.0.0.1:3')
    const { out: winner } = await compare(routes(a, app('/a', 2)), routes(app('/a', 2), a))
    expect(winner).toContain('2 objects differ')
  })

  test('reordered unnamed routes', async () => {
    const routes = (...paths: string[]) =>
      `binds: [{port: 80, listeners: [{routes: [${paths.map(path => `{matches: [{path: {exact: ${path}}}], backends: [{host: '127.0.0.1:1'}]}`).join()}]}]}]`
    expect(await compare(routes('/a', '/b'), routes('/b', '/a'))).toMatchObject({ code: 0 })
    const { out } = await compare(routes('/a', '/b'), routes('/new', '/a', '/b'))
    expect(out).toBe('+ route default/route0: /new  b.yaml:1\n1 object differs: 1 added.\n')
  })
})

describe('reported changes', () => {
  test.each<[string, string, string, string]>([
    [
      'a field of a policy, with both values and lines',
      '60s',
      '90s',
      '~ policy timeout of route default/chat  a.yaml:8 → b.yaml:8\n    requestTimeout: 60s → 90s  a.yaml:8 → b.yaml:8\n',
    ],
    [
      'a default that is overridden',
      "['https://a.example']",
      "['https://a.example'], allowCredentials: true",
      'allowCredentials: false (default) → true  a.yaml:9 → b.yaml:9',
    ],
    [
      'a changed rule',
      'GET',
      'POST',
      'rules[0].allow: request.method == "GET" → request.method == "POST"  a.yaml:12 → b.yaml:12',
    ],
    [
      'an added rule',
      `          - allow:`,
      `          - deny: 'false'\n          - allow:`,
      'rules[0]: unset → {"deny":"false"}  b.yaml:12',
    ],
    [
      'a removed policy',
      "        cors: {allowOrigins: ['https://a.example']}\n",
      '',
      '- policy cors of route default/chat  a.yaml:9\n',
    ],
    [
      'an added policy',
      '        timeout',
      '        csrf: {}\n        timeout',
      '+ policy csrf of route default/chat  b.yaml:8\n',
    ],
    [
      'the address of a backend',
      '127.0.0.1:1',
      '127.0.0.1:2',
      '~ route default/chat  a.yaml:5 → b.yaml:5\n    backends[0].host: 127.0.0.1:1 → 127.0.0.1:2  a.yaml:14 → b.yaml:14\n',
    ],
    ['the weight of a backend', 'host: 127.0.0.1:1', '{host: 127.0.0.1:1, weight: 5}', 'backends[0].weight: 1 → 5'],
    ['a match condition', 'pathPrefix', 'exact', 'matches[0].path.pathPrefix: /v1 → unset'],
    [
      'a renamed route',
      'name: chat',
      'name: talk',
      '= route default/chat is now route default/talk  a.yaml:5 → b.yaml:5\n1 object differs: 1 renamed.\n',
    ],
    [
      'a changed port',
      'port: 8080',
      'port: 8081',
      '= port 8080 is now port 8081  a.yaml:2 → b.yaml:2\n1 object differs: 1 renamed.\n',
    ],
    ['the host of a listener', '- routes:', '- hostname: a.example\n    routes:', 'hostname:  → a.example'],
    ['process settings', 'binds:', 'config: {logging: {level: debug}}\nbinds:', '~ settings'],
    [
      'policies for every port',
      'binds:',
      'frontendPolicies: {http: {maxBufferSize: 1Mi}}\nbinds:',
      '+ policy http of every port  b.yaml:1\n',
    ],
  ])('%s', async (_, from, to, told) => {
    const { code, out } = await compare(ROUTE, changed(from, to))
    expect(out).toContain(told)
    expect(code).toBe(1)
  })

  test('models, targets and named backends', async () => {
    const config = (name: string, model: string, targets: string) => `
backends:
- {name: ${name}, host: '127.0.0.1:9'}
- {name: tools, mcp: {targets: [${targets}]}}
llm: {port: 81, models: [{name: fast, provider: openAI, params: {model: ${model}, apiKey: sk-a}}]}
binds: [{port: 80, listeners: [{routes: [{name: r, backends: [{backend: /${name}}]}, {name: t, backends: [{backend: /tools}]}]}]}]
`
    const web = `{name: web, mcp: {host: 'http://127.0.0.1:3/mcp'}}`
    const time = `{name: time, mcp: {host: 'http://127.0.0.1:4/mcp'}}`
    const { out } = await compare(config('a', 'gpt-4o', `${web},${time}`), config('b', 'gpt-5', `${time}`))
    expect(out).toBe(`= backend /a is now backend /b  a.yaml:3 → b.yaml:3
- target web of backend /tools  a.yaml:4
~ model fast  a.yaml:5 → b.yaml:5
    params.model: gpt-4o → gpt-5  a.yaml:5 → b.yaml:5
3 objects differ: 1 removed, 1 changed, 1 renamed.
`)
  })

  test('a policy with a target, once for all its routes', async () => {
    const config = (origin: string) => `
policies: [{name: {name: wide}, target: {gateway: {gatewayName: default}}, policy: {cors: {allowOrigins: ['${origin}']}}}]
binds: [{port: 80, listeners: [{routes: [${[1, 2, 3, 4, 5, 6].map(i => `{name: r${i}, matches: [{path: {exact: /${i}}}], backends: [{host: '127.0.0.1:1'}]}`).join()}]}]}]
`
    const { out } = await compare(config('https://a.example'), config('https://b.example'))
    expect(out).toBe(`~ policy cors of route default/r1  a.yaml:2 → b.yaml:2
    allowOrigins[0]: https://a.example → https://b.example  a.yaml:2 → b.yaml:2
    also policy cors of route default/r2, policy cors of route default/r3, policy cors of route default/r4 and 2 more
1 object differs: 1 changed.
`)
  })

  test('a changed secret, without either value', async () => {
    const config = (key: string) =>
      changed("cors: {allowOrigins: ['https://a.example']}", `apiKey: {keys: [{key: ${key}}]}`)
    const { out, code } = await compare(config('first-secret'), config('other-secret'))
    expect(out).toContain('keys[0].key: <redacted> → <redacted> (another value)  a.yaml:9 → b.yaml:9')
    expect(out).not.toMatch(/first-secret|other-secret/)
    expect(code).toBe(1)
    expect(await compare(config('first-secret'), config('first-secret'))).toMatchObject({ code: 0 })
  })

  test('changed content of a referenced file', async () => {
    const config = changed("cors: {allowOrigins: ['https://a.example']}", 'basicAuth: {htpasswd: {file: ./users}}')
    write('old/config.yaml', config)
    write('new/config.yaml', config)
    write('old/users', 'bob:$2y$10$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n')
    write('new/users', 'eve:$2y$10$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n')
    const { out, code } = await gwctl(['old/config.yaml', 'new/config.yaml', '--structural'])
    expect(out).toContain('~ file ./users')
    expect(out).not.toContain('bob')
    expect(code).toBe(1)
  })
})

describe('comparable inputs', () => {
  test('stdin and a file', async () => {
    write('b.yaml', changed('60s', '90s'))
    const { out, code } = await gwctl(['-', 'b.yaml', '--structural'], { stdin: ROUTE })
    expect(out).toContain('requestTimeout: 60s → 90s  <stdin>:8 → b.yaml:8')
    expect(code).toBe(1)
  })

  test('a running gateway, a saved dump and their source file', async () => {
    await using gateway = await startGateway(ROUTE.replace('8080', '0'))
    const dump = JSON.parse(JSON.stringify(dumpOf(gateway.gateway.snapshot!, '1.0.0')))
    const fake = new FakeGateway()
    fake.dumped = dump
    const admin = await startAdmin('127.0.0.1:0', fake)
    write('b.yaml', changed('60s', '90s').replace('8080', '0'))
    const live = await gwctl(['live', 'b.yaml', '--admin', `http://${admin.address}`])
    await admin.close()
    expect(live.out).toContain('requestTimeout: 60s → 90s')
    expect(live.err).toContain('live is a dump: no request can be run through it.')
    write('dump.json', JSON.stringify(dump))
    write('a.yaml', ROUTE.replace('8080', '0'))
    const same = await gwctl(['dump.json', 'a.yaml', '--structural'])
    expect(same).toMatchObject({ out: 'No object differs.\n', code: 0 })
    expect(same.err).toBe('dump.json is a dump: changed secrets cannot be detected.\n')
    expect((await gwctl(['dump.json', 'b.yaml', '--structural'])).out).toContain('requestTimeout: 60s → 90s')
  })

  test('directories of resources', async () => {
    const resources = (timeout: string) => `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: default}
spec: {gatewayClassName: agentgateway, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: default}
spec: {ports: [{port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app, namespace: default}
spec:
  parentRefs: [{name: gw}]
  rules:
  - timeouts: {request: ${timeout}}
    backendRefs: [{name: app, port: 80}]
`
    write('old/all.yaml', resources('10s'))
    write('new/all.yaml', resources('20s'))
    const { out, code } = await gwctl(['old', 'new', '--structural'])
    expect(out).toMatch(
      /policy timeout of route .*old\/all.yaml:\d+ → new\/all.yaml:\d+\n {4}requestTimeout: 10s → 20s/,
    )
    expect(code).toBe(1)
  })

  test('incomplete resources', async () => {
    const route = (path: string) => `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: default}
spec: {gatewayClassName: agentgateway, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app, namespace: default}
spec:
  parentRefs: [{name: gw}]
  rules: [{matches: [{path: {type: Exact, value: ${path}}}], backendRefs: [{name: elsewhere, port: 80}]}]
`
    write('a.yaml', route('/a'))
    write('b.yaml', route('/b'))
    expect(await gwctl(['a.yaml', 'b.yaml'])).toMatchObject({ code: 3, err: expect.stringContaining('GW204') })
    const { out, code } = await gwctl(['a.yaml', 'b.yaml', '--partial'])
    expect(out).toContain('matches[0].path.exact: /a → /b')
    expect(out).toMatch(/GET localhost\/a: \d+ → 404 /)
    expect(code).toBe(1)
  })

  test('git revisions, with the files next to them', async () => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args])
    git('init', '-q')
    const config = changed("cors: {allowOrigins: ['https://a.example']}", 'basicAuth: {htpasswd: {file: ./users}}')
    write('conf/config.yaml', config)
    write('conf/users', 'bob:$2y$10$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n')
    git('add', '-A')
    git('commit', '-qm', 'one')
    write('conf/users', 'eve:$2y$10$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n')
    write('conf/config.yaml', config.replace('60s', '90s'))
    git('commit', '-qam', 'two')
    const lines = 'requestTimeout: 60s → 90s  HEAD~1:conf/config.yaml:8 → HEAD:conf/config.yaml:8'
    const both = await gwctl(['git:HEAD~1:conf/config.yaml', 'git:HEAD', '--structural'])
    expect(both.out).toContain(lines)
    expect(both.out).toContain('file ./users')
    expect((await gwctl(['git:HEAD', 'conf/config.yaml', '--structural'])).code).toBe(0)
    expect((await gwctl(['git:HEAD~1', 'config.yaml', '--structural'], { cwd: join(folder, 'conf') })).out).toContain(
      '60s → 90s',
    )
    write('map.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n')
    git('add', '-A')
    git('commit', '-qm', 'three')
    expect(await gwctl(['git:HEAD', '.'])).toMatchObject({ code: 0, err: '' })
    expect(await gwctl(['git:nope', 'conf/config.yaml'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('git does not know the revision nope.'),
    })
    expect(await gwctl(['git:HEAD:gone.yaml', 'conf/config.yaml'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('gone.yaml does not exist at HEAD.'),
    })
  })
})

describe('inputs that cannot be compared', () => {
  test('show the findings of the invalid side, with its name', async () => {
    write('a.yaml', ROUTE)
    write('b.yaml', changed('cors', 'crs'))
    for (const sides of [
      ['a.yaml', 'b.yaml'],
      ['b.yaml', 'a.yaml'],
    ]) {
      expect(await gwctl(sides)).toEqual({
        code: 3,
        out: '',
        err: expect.stringMatching(/b\.yaml cannot be compared:\nb\.yaml:9:9: error GW102 unknown field `crs`/),
      })
    }
  })

  test.each<[string, string[], number, string]>([
    ['no such file', ['a.yaml', 'c.yaml'], 3, 'c.yaml does not exist'],
    ['stdin twice', ['-', '-'], 2, 'both sides cannot be stdin'],
    ['a revision without a path', ['git:HEAD', 'git:HEAD~1'], 2, 'Write git:HEAD:PATH.'],
    ['no revision', ['git:', 'a.yaml'], 2, 'git: names no revision.'],
    ['no git repository', ['git:HEAD', 'a.yaml'], 2, 'is in no git repository'],
    ['no running gateway', ['live', 'a.yaml', '--admin', 'http://127.0.0.1:1'], 4, 'no gateway answers'],
    ['one side only', ['a.yaml'], 2, 'two sides are compared, and one is named.'],
  ])('%s', async (_, argv, code, message) => {
    write('a.yaml', ROUTE)
    expect(await gwctl(argv)).toMatchObject({ code, out: '', err: expect.stringContaining(message) })
  })
})

describe('formats', () => {
  test('JSON, GitHub and Markdown report the same change', async () => {
    write('a.yaml', ROUTE)
    write('b.yaml', changed('60s', '90s'))
    const as = async (format: string) => gwctl(['a.yaml', 'b.yaml', '--structural', '-o', format])
    expect(JSON.parse((await as('json')).out)).toMatchObject({
      version: 1,
      changes: [
        {
          change: 'changed',
          kind: 'policy',
          fields: [{ field: 'requestTimeout', before: { value: '60s', at: 'a.yaml:8' }, after: { value: '90s' } }],
        },
      ],
    })
    expect((await as('github')).out).toContain(
      '::notice file=b.yaml,line=8,title=policy timeout of route default/chat was changed::requestTimeout: 60s → 90s\n',
    )
    const { out, code } = await as('markdown')
    expect(out).toContain('| changed | policy timeout of route default/chat |  | a.yaml:8 → b.yaml:8 |\n')
    expect(out).toContain('|  |  | requestTimeout: 60s → 90s | a.yaml:8 → b.yaml:8 |\n')
    expect(code).toBe(1)
  })

  test('Markdown fits into a GitHub comment and says what it omits', async () => {
    const routes = (port: number) =>
      Array.from({ length: 1500 }, (_, i) => {
        return `{name: r${i}, matches: [{path: {exact: /${'x'.repeat(60)}${i}}}], backends: [{host: '127.0.0.1:${port + i}'}]}`
      })
    write('a.yaml', `binds: [{port: 80, listeners: [{routes: [${routes(1000)}]}]}]`)
    write('b.yaml', `binds: [{port: 80, listeners: [{routes: [${routes(3000)}]}]}]`)
    const { out } = await gwctl(['a.yaml', 'b.yaml', '--limit', '300', '-o', 'markdown'])
    expect(out.length).toBeLessThan(65_536)
    expect(out.match(/^\d+ more lines are left out\.$/gm)).toHaveLength(2)
  })
})
