import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { dumpOf } from '../../src/config/dump.ts'
import { type DumpDocument, modelOf } from '../../src/tools/config-dump/model.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { docPage } from '../helpers/doc-page.ts'
import { startGateway } from '../helpers/gateway.ts'

const root = new URL('../../', import.meta.url)
const CONFIG = `policies:
- name: {name: wide, namespace: default}
  target: {gateway: {gatewayName: default, gatewayNamespace: default}}
  phase: route
  policy: {cors: {allowOrigins: ['*']}}
backends:
- {name: spare, host: '127.0.0.1:9'}
binds:
- port: 80
  listeners:
  - routes:
    - name: chat
      hostnames: [api.example.com]
      matches: [{path: {pathPrefix: /v1}, method: POST, headers: [{name: x-team, value: {exact: a}}]}]
      policies:
        cors: {allowOrigins: ['https://a.example']}
        authorization: {rules: [{allow: 'request.path == "/v1"'}]}
      backends: [{host: '127.0.0.1:1', weight: 3}, {host: '127.0.0.1:2'}]
    - name: tools
      matches: [{path: {exact: /mcp}}]
      policies: {cors: {allowOrigins: ['https://b.example']}}
      backends: [{mcp: {targets: [{name: time, stdio: {cmd: uvx, args: [mcp-time]}}, {name: web, mcp: {host: 'http://127.0.0.1:3/mcp'}}]}}]
llm:
  port: 81
  models: [{name: gpt-x, provider: openAI, params: {apiKey: sk-secret, model: gpt-4o}}]
  policies: {cors: {allowOrigins: ['https://c.example']}}
`

let folder: string
let dump: DumpDocument

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-views-'))
  await using gateway = await startGateway(CONFIG)
  // As it comes over the wire.
  dump = JSON.parse(JSON.stringify(dumpOf(gateway.gateway.snapshot!, '1.0.0'))) as DumpDocument
  save(dump)
})
afterEach(() => rmSync(folder, { recursive: true }))

const save = (value: unknown) => writeFileSync(join(folder, 'dump.json'), JSON.stringify(value))

async function gwctl(...argv: string[]) {
  const io = memoryIo({ cwd: folder })
  const code = await main(['dump', '-f', 'dump.json', ...argv], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

describe('views', () => {
  test.each<[string, string]>([
    [
      'binds',
      'BIND     PORT  PROTOCOL  LISTENERS  ROUTES\nbind/80    80  http              1       2\nbind/81    81  http              1       1\n',
    ],
    ['models', 'MODEL  KIND      PROVIDER  SENT AS  VISIBILITY\ngpt-x  concrete  openAI    gpt-4o   public\n'],
    [
      'summary',
      `OBJECTS    COUNT  OF WHICH
binds          2  80 81
listeners      2  HTTP ×2
routes         3  http ×3
backends       5  host ×3 mcp llm
policies       4  cors ×3 authorization
models         1  openAI
services       0
workloads      0
`,
    ],
  ])('%s as a table', async (view, table) => {
    expect(await gwctl(view)).toEqual({ code: 0, out: table, err: '' })
  })

  test('routes show what they match and where they lead', async () => {
    const [, chat, tools] = (await gwctl('routes')).out.split('\n')
    expect(chat).toMatch(
      /^default\/chat .* api\.example\.com {2}POST \/v1\/\* x-team=a {2}.*cors.* 127\.0\.0\.1:1\(3\) 127\.0\.0\.1:2\(1\)$/,
    )
    expect(tools).toMatch(/^default\/tools .* \/mcp .* mcp$/)
  })

  test('mcp lists targets with their transport', async () => {
    const { out } = await gwctl('mcp')
    expect(out).toMatch(/time {4}stdio {6}uvx mcp-time\n/)
    expect(out).toMatch(/web {5}mcp {8}http:\/\/127\.0\.0\.1:3\/mcp\n/)
  })

  test('wide and --show-origin add the source lines', async () => {
    expect((await gwctl('listeners', '-o', 'wide')).out).toContain('test.yaml:')
    expect((await gwctl('listeners', '--show-origin')).out).toMatch(/ORIGIN\n.*test\.yaml:\d+:\d+\n/)
    expect((await gwctl('listeners')).out).not.toContain('test.yaml')
  })

  test('data formats print one value per object', async () => {
    expect(JSON.parse((await gwctl('routes', '-o', 'json')).out)).toEqual(dump.routes)
    const lines = (await gwctl('backends', '-o', 'jsonl')).out.trimEnd().split('\n')
    expect(lines.map(line => JSON.parse(line) as unknown)).toEqual(dump.backends)
    expect((await gwctl('models', '-o', 'yaml')).out).toContain('apiKey: <redacted>')
  })

  test('dot prints a routing graph', async () => {
    const { out } = await gwctl('-o', 'dot')
    expect(out).toMatch(/^digraph gateway \{/)
    expect(out).toContain('label="POST /v1/* x-team=a"')
  })

  test.each([
    [['routes', '-o', 'dot'], 'a graph shows the whole configuration, not routes alone.'],
    [['--unused', '-o', 'dot'], 'a graph shows the whole configuration, not --unused alone.'],
    [['--effective', 'chat', '-o', 'dot'], 'a graph shows the whole configuration, not --effective alone.'],
    [['models', '--unused'], '--unused takes no view, not models.'],
    [['models', '--effective', 'chat'], '--effective takes no view, not models.'],
  ])('%j is rejected rather than partly ignored', async (argv, message) => {
    const { code, out, err } = await gwctl(...argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })

  test('an unknown view is a usage error with a suggestion', async () => {
    const { code, err } = await gwctl('rotes')
    expect(code).toBe(2)
    expect(err).toContain('did you mean `routes`?')
  })

  test('control characters in a configuration never reach the terminal', async () => {
    const [first] = dump.routes
    const hostname = '\u001b[2Jevil\u009b2J\u202e'
    save({ ...dump, routes: [{ ...first, hostnames: [hostname] }] })
    for (const format of ['table', 'wide', 'json', 'jsonl', 'yaml']) {
      const { out } = await gwctl('routes', '-o', format)
      expect([...hostname].filter(char => char < ' ' || char > '~').filter(char => out.includes(char))).toEqual([])
    }
    const [route] = JSON.parse((await gwctl('routes', '-o', 'json')).out) as { hostnames: string[] }[]
    expect(route?.hostnames).toEqual([hostname])
  })

  test('all 5,000 routes are shown in every format', async () => {
    const [first] = dump.routes
    const routes = Array.from({ length: 5000 }, (_, i) => ({ ...first, key: `k${i}`, name: `r${i}` }))
    save({ ...dump, routes })
    for (const format of ['table', 'wide', 'json', 'jsonl', 'yaml', 'dot']) {
      const { out } = await gwctl(...(format === 'dot' ? [] : ['routes']), '-o', format)
      expect(out.split('\n').length).toBeGreaterThan(5000)
    }
  })
})

describe('--select', () => {
  const names = async (view: string, expression: string) => {
    const { code, out } = await gwctl(view, '--select', expression, '-o', 'jsonl')
    expect(code).toBe(0)
    return out.split('\n').flatMap(line => (line === '' ? [] : [(JSON.parse(line) as { name: string }).name]))
  }

  test.each([
    ['name == "chat"', ['chat']],
    ['"cors" in policies && hostnames.exists(h, h.endsWith(".com"))', ['chat']],
    ['matches.exists(m, m.path.exact == "/mcp")', ['tools']],
    ['self.namespace == "default" && name.matches("^t.*s$")', ['tools']],
    ['backends.map(b, int(b.weight)).exists(w, w > 2)', ['chat']],
    // A field that none has at present is known all the same, and so is what it means that it is not there.
    ['ruleName == "x"', []],
    ['has(self.ruleName)', []],
    ['false', []],
  ])('selects routes for which %s', async (expression, expected) => {
    expect((await names('routes', expression)).filter(name => name === 'chat' || name === 'tools')).toEqual(expected)
  })

  test('works in every view and format, including --unused', async () => {
    expect((await gwctl('binds', '--select', 'port > 80')).out).toMatch(/^BIND .*\nbind\/81 .*\n$/)
    expect((await gwctl('mcp', '--select', 'has(self.stdio)')).out).toMatch(/^BACKEND .*\n.* time .*\n$/)
    expect((await gwctl('--unused', '--select', 'kind == "backend"')).out).toMatch(/^KIND .*\nbackend .*spare.*\n$/)
    expect((await gwctl('services', '--select', 'x')).code).toBe(2)
    const { out } = await gwctl('policies', '--select', 'at == "route default/tools"', '-o', 'yaml')
    expect(out).toMatch(/^- policy: cors\n/)
  })

  test('keeps all rows of an object or none', async () => {
    const [first, ...others] = dump.backends
    const health = [{ endpoint: 'a:1' }, { endpoint: 'b:2' }]
    save({ ...dump, backends: [{ ...first, name: 'two', health }, ...others] })
    expect((await gwctl('backends', '--select', 'name == "two"')).out.trimEnd().split('\n')).toHaveLength(3)
  })

  test.each([
    ['nmae == "chat"', 'unknown field `nmae`', 'did you mean `name`?'],
    ['request.path == "/"', 'unknown field `request`', 'Fields: self, key, name'],
    ['namespace == "default"', 'reserved', 'write `self.namespace`'],
    ['name ==', 'unexpected token', '-o json'],
    ['name > 3', 'it fails for all of them', 'wrong types'],
    ['name', 'it fails for all of them', 'wrong type'],
    ['1 + 1', 'must give a boolean', ''],
    ['name.matches("(")', 'bad pattern', 'RE2'],
    [`${'!'.repeat(100)}true`, 'nested too deeply', ''],
    [`"${'x'.repeat(20_000)}" == name`, '20010 characters', ''],
  ])('rejects %s with a reason', async (expression, message, help) => {
    const { code, out, err } = await gwctl('routes', '--select', expression)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
    expect(err).toContain(help)
  })

  test('is a usage error unless all rows are of one kind', async () => {
    for (const argv of [[], ['routes', '-o', 'dot'], ['-o', 'table'], ['--effective', 'chat']]) {
      const { code, err } = await gwctl(...argv, '--select', 'true')
      expect([argv, code]).toEqual([argv, 2])
      expect(err).toMatch(/select/)
    }
  })
})

test('the examples in docs/admin.md work', async () => {
  const examples = docPage('admin.md').commands.filter(({ argv }) => argv[0] === 'dump')
  expect(examples.length).toBeGreaterThan(4)
  for (const { line, argv } of examples) {
    const { code, err } = await gwctl(...argv.slice(1).filter(word => word !== '-f' && word !== 'saved.json'))
    expect([line, code, err.replace(/^--select matches none of \d+\.\n/, '')]).toEqual([line, 0, ''])
  }
})

describe('--effective', () => {
  test('shows which policy wins and which is overridden', async () => {
    const { out } = await gwctl('--effective', 'chat')
    expect(out).toMatch(/cors at the route\n {2}✓ test\.yaml:16:\d+ wins\n {2}✗ test\.yaml:5:\d+ overridden/)
    expect(out).toContain('- https://a.example')
    expect(out).toContain('authorization at the route')
  })

  test('is available as data', async () => {
    const { policies } = JSON.parse((await gwctl('--effective', 'default/tools', '-o', 'json')).out) as {
      policies: { policy: string; wonBy: string[]; overridden: string[] }[]
    }
    expect(policies.map(({ policy, wonBy, overridden }) => [policy, wonBy.length, overridden.length])).toEqual([
      ['cors', 1, 1],
    ])
  })

  test('asks for a key when several routes share a name', async () => {
    const [first] = dump.routes
    save({ ...dump, routes: [first, { ...first, key: `${first?.key}#2`, origin: 'test.yaml:99:1' }] })
    const { code, err } = await gwctl('--effective', 'default/chat')
    expect(code).toBe(2)
    expect(err).toContain(`${first?.key}#2 (test.yaml:99:1)`)
    for (const named of [`${first?.key}#2`, 'default/chat#2', 'chat#2']) {
      expect((await gwctl('--effective', named)).out).toMatch(/^default\/chat test\.yaml:99:1\n/)
    }
  })

  test('suggests a name for an unknown route', async () => {
    const { code, err } = await gwctl('--effective', 'default/chta')
    expect(code).toBe(2)
    expect(err).toContain('did you mean `default/chat`?')
  })
})

test('--unused lists what no route refers to, and policies that never win', async () => {
  const { out } = await gwctl('--unused', '-o', 'json')
  expect(JSON.parse(out)).toEqual([
    { kind: 'backend', name: '/spare', why: 'nothing refers to it', origin: expect.stringMatching(/^test\.yaml:7:/) },
    {
      kind: 'policy',
      name: 'cors',
      why: 'narrower ones win wherever it applies',
      origin: expect.stringMatching(/^test\.yaml:5:/),
    },
  ])
})

describe('--unused', () => {
  const unused = async (text: string) => {
    await using gateway = await startGateway(text)
    save(JSON.parse(JSON.stringify(dumpOf(gateway.gateway.snapshot!, '1'))))
    return gwctl('--unused')
  }
  const USED = `backends:
- {name: a, host: '127.0.0.1:1', policies: {backendTunnel: {proxy: {backend: /proxy}}}}
- {name: proxy, host: '127.0.0.1:1'}
- {name: mirror, host: '127.0.0.1:1'}
- {name: inner, host: '127.0.0.1:1'}
routeGroups: [{name: g, routes: [{backends: [{backend: /inner}]}]}]
binds:
- port: 80
  listeners:
  - routes:
    - {policies: {requestMirror: {backend: {backend: /mirror}, percentage: 1}}, backends: [{backend: /a}]}
    - {matches: [{path: {exact: /g}}], backends: [{routeGroup: g}]}
`

  test('says on stderr when everything is used', async () => {
    expect(await unused(USED)).toEqual({ code: 0, out: '', err: 'Everything is used.\n' })
    expect((await gwctl('--unused', '-o', 'json')).out).toBe('[]\n')
  })

  test('lists a group no route delegates to, and what only that group refers to', async () => {
    const { out } = await unused(
      USED.replace('    - {matches: [{path: {exact: /g}}], backends: [{routeGroup: g}]}\n', ''),
    )
    expect(out).toMatch(/^KIND .*\nbackend +\/inner +nothing refers to it\nrouteGroup +g +no route delegates to it\n$/)
  })
})

test('an empty table is explained on stderr', async () => {
  save({ ...dump, models: [] })
  expect(await gwctl('models')).toEqual({ code: 0, out: '', err: 'There are no models.\n' })
  expect(await gwctl('binds', '--select', 'port == 9')).toEqual({
    code: 0,
    out: '',
    err: '--select matches none of 2.\n',
  })
})

test('models and MCP targets have source lines as well', async () => {
  expect((await gwctl('models', '--show-origin')).out).toMatch(/ ORIGIN\ngpt-x .* test\.yaml:25:12\n/)
  expect(JSON.parse((await gwctl('mcp', '-o', 'json')).out)).toMatchObject([
    { name: 'time', origin: expect.stringMatching(/^test\.yaml:22:/) },
    { name: 'web' },
  ])
})

describe('dumps from elsewhere', () => {
  test('a dump of the public system', () => {
    const path = { path: { pathPrefix: '/' } }
    const uses = [{ weight: 2, backend: '/b', inlinePolicies: [{ timeout: {} }] }]
    const route = {
      key: 'r',
      name: 'r',
      namespace: 'ns',
      matches: [path],
      backends: uses,
      inlinePolicies: [{ cors: {} }],
    }
    const listener = {
      key: 'l',
      listenerName: 'l',
      gatewayName: 'g',
      gatewayNamespace: 'ns',
      hostname: '*',
      protocol: { HTTPS: {} },
      routes: { r: route },
    }
    const model = modelOf(
      {
        binds: [{ key: 'bind/3000', address: '[::]:3000', protocol: 'auto', listeners: { l: listener } }],
        backends: [{ backend: { host: { name: 'b', namespace: '', target: 'example.com:80' } } }],
        routes: { httpMesh: {} },
        policies: [],
        version: { version: '1' },
        config: {},
      },
      'dump',
    )
    expect(model.binds).toMatchObject([{ port: 3000, protocol: 'http', listeners: ['l'] }])
    expect(model.listeners).toMatchObject([{ hostname: '', protocol: 'HTTPS', gateway: 'ns/g' }])
    expect(model.routes).toMatchObject([{ key: 'r', backends: [{ backend: '/b', weight: 2 }] }])
    expect(Object.keys(model.routes[0]?.policies ?? {})).toEqual(['cors'])
    expect(model.backends).toMatchObject([{ key: '/b', kind: 'host', spec: 'example.com:80' }])
  })

  test('a dump of the public system with connections and models', async () => {
    const use = (backend: string) => ({ weight: 1, backend })
    const listener = (key: string, more: object) => ({
      key,
      listenerName: key,
      hostname: '',
      protocol: 'HTTP',
      ...more,
    })
    const route = { key: 'm', name: 'm', namespace: 'internal', backends: [use('/router')] }
    const tcpRoute = { key: 't', name: 't', namespace: 'default', backends: [{ weight: 1, backend: use('/up') }] }
    const named = (name: string, target: unknown) => ({ name, namespace: '', target })
    const endpoint = { provider: { openAI: { model: 'gpt-4o' } } }
    save({
      binds: [
        {
          key: 'bind/1',
          address: '[::]:1',
          protocol: 'tcp',
          listeners: { raw: listener('raw', { tcpRoutes: { t: tcpRoute } }) },
        },
        {
          key: 'bind/2',
          address: '[::]:2',
          protocol: 'http',
          listeners: { llm: listener('llm', { routes: { m: route } }) },
        },
      ],
      backends: [
        { backend: { host: named('up', '127.0.0.1:3') } },
        { backend: { ai: named('model', { providers: [{ active: { 'gpt-x': { endpoint } }, rejected: {} }] }) } },
        {
          backend: {
            llmRouter: named('router', {
              models: [{ name: 'gpt-x', visibility: 'internal', backend: use('/model') }],
              virtualModels: [{ name: 'any' }],
            }),
          },
        },
      ],
      routes: {},
      policies: [],
      services: [],
      workloads: [],
      version: {},
      config: {},
    })
    expect((await gwctl('models')).out).toMatch(
      /^MODEL .*\ngpt-x +concrete +openAI +gpt-4o +internal\nany +virtual +- +- +public\n$/,
    )
    expect((await gwctl('routes')).out).toMatch(/\(connections\) +- +\/up\n/)
    expect((await gwctl('--unused')).err).toBe('Everything is used.\n')
    expect((await gwctl('-o', 'yaml')).out).toContain('llmRouter:')
  })

  test('a broken dump reports the position and a way out', async () => {
    save({ ...dump, routes: [{ key: 'r' }] })
    const { code, err } = await gwctl('routes')
    expect(code).toBe(3)
    expect(err).toContain('routes.0 has no')
    expect((await gwctl('-o', 'yaml')).code).toBe(0)
  })
})
