import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import type { Explanation } from '../../src/tools/route/explanation.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { createAuthority, createCertificate } from '../helpers/certificates.ts'
import { docPage } from '../helpers/doc-page.ts'

const root = new URL('../../', import.meta.url)

const CONFIG = `binds:
- port: 3000
  listeners:
  - name: api
    hostname: api.example.com
    policies:
      authorization: {rules: [{deny: 'source.address == "10.9.9.9"'}]}
    routes:
    - name: chat
      matches:
      - {path: {pathPrefix: /v1}, method: POST, headers: [{name: x-team, value: {exact: a}}]}
      - {path: {pathPrefix: /v1}, method: POST, query: [{name: team, value: {exact: a}}]}
      policies:
        jwtAuth: {issuer: 'https://issuer.test', audiences: [me], jwks: '{"keys": []}'}
        authorization: {rules: [{allow: 'jwt.role == "admin"'}, {deny: 'request.path.contains("secret")'}]}
        localRateLimit: [{maxTokens: 5, tokensPerFill: 5, fillInterval: 10s}]
        requestHeaderModifier: {set: {x-key: hidden}, remove: [x-team]}
      backends:
      - {host: 'a.test:80', weight: 9}
      - {host: 'b.test:80', weight: 1}
      - {host: 'c.test:80', weight: 0}
    - name: keyed
      matches: [{path: {exact: /keyed}}]
      policies:
        apiKey: {keys: [{key: very-secret, metadata: {name: ci, team: a}}]}
      backends: [{host: 'keyed.test:80'}]
    - {name: headed, matches: [{path: {exact: /headed}, headers: [{name: x-role, value: {exact: a}}]}]}
    - name: fallback
      matches: [{path: {pathPrefix: /}, method: GET}]
      policies:
        directResponse: {status: 404, body: nothing here}
  - name: any
    routes:
    - name: moved
      policies:
        requestRedirect: {path: {full: /new}, status: 302}
  - name: tls
    hostname: '*.example.com'
    routes: []
`

const MODELS = `llm:
  port: 3000
  models:
  - {name: gpt-big, provider: openAI, params: {apiKey: sk-secret}}
  - {name: 'gpt-*', provider: openAI, params: {apiKey: sk-secret}}
  - {name: small, provider: anthropic, params: {apiKey: sk-secret}}
  virtualModels:
  - name: auto
    routing:
      conditional:
        targets:
        - {when: 'request.headers["x-tier"] == "gold"', model: gpt-big}
        - {model: small}
`

const TOOLS = `mcp:
  port: 3000
  targets:
  - {name: time, stdio: {cmd: no-such-program, args: []}}
  policies:
    mcpAuthorization: {rules: ['mcp.tool.name == "now"']}
`

const CONNECTIONS = `frontendPolicies:
  networkAuthorization: {rules: [{allow: 'source.address.startsWith("10.")'}]}
binds:
- port: 3000
  listeners:
  - routes:
    - name: forward
      backends: [{dynamic: {}}]
- port: 3306
  listeners:
  - protocol: TCP
    tcpRoutes:
    - name: db
      backends: [{host: 'db.test:3306'}]
`

const own = createCertificate(createAuthority('route'), ['*.test'])
const SECURE = `binds:
- port: 8443
  listeners:
  - {name: inner, hostname: inner.test, protocol: HTTPS, tls: {cert: own.pem, key: own.key}, routes: [{name: inside, policies: {directResponse: {status: 200}}}]}
  - {name: api, hostname: api.test, protocol: HTTPS, tls: {cert: own.pem, key: own.key}, routes: [{name: outside, policies: {directResponse: {status: 204}}}]}
`

const RESOURCES = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: default}
spec:
  gatewayClassName: agentgateway
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: default}
spec:
  parentRefs: [{name: gw}]
  rules:
  - filters: [{type: RequestRedirect, requestRedirect: {statusCode: 302, hostname: other.test}}]
`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-route-'))
  mkdirSync(join(folder, 'cases'))
  for (const [name, text] of Object.entries({
    'gateway.yaml': CONFIG,
    'models.yaml': MODELS,
    'tools.yaml': TOOLS,
    'connections.yaml': CONNECTIONS,
    'secure.yaml': SECURE,
    'own.pem': own.cert,
    'own.key': own.key,
    'broken.yaml': 'binds:\n- prot: 1\n',
    'claims.json': '{"role": "admin"}',
    'body.json': '{"from": "a file"}',
    'copied.sh':
      "curl 'http://api.example.com:3000/v1/chat?team=b' \\\n  -H 'x-team: a' \\\n  --data-raw '{}' --compressed\n",
  }))
    writeFileSync(join(folder, name), text)
})
afterAll(() => rmSync(folder, { recursive: true }))

const AT = ['--at', '2026-01-15T12:00:00Z']

async function route(argv: readonly string[], file = 'gateway.yaml', stdin = '') {
  const io = memoryIo({ cwd: folder, stdin })
  const code = await main(['route', '-f', file, ...(argv.includes('--at') ? [] : AT), ...argv], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

async function explained(argv: readonly string[], file?: string): Promise<Explanation & { code: number }> {
  const { code, out } = await route(['-o', 'json', ...argv], file)
  return { ...(JSON.parse(out) as Explanation), code }
}

const CHAT = ['POST', 'http://api.example.com:3000/v1/chat', '-H', 'x-team: a']
const MCP_CALL = (name: string) => [
  '/mcp',
  '-H',
  'accept: application/json, text/event-stream',
  '--json',
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }),
]
const ADMIN = ['--jwt-claims', '{"role": "admin"}']

test('shows the complete path of a request answered by a backend', async () => {
  const { code, out, err } = await route([...CHAT, '--json', '{"a":1}', ...ADMIN])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toBe(`POST http://api.example.com:3000/v1/chat  200 from a backend
from 127.0.0.1 at 2026-01-15T12:00:00.000Z

listener  api on port 3000  gateway.yaml:4
            not any: less specific: any host  gateway.yaml:32
            not tls: less specific: host *.example.com is wider  gateway.yaml:37
route     chat  gateway.yaml:9
            not fallback: method is not GET  gateway.yaml:28
            not keyed: path is not /keyed  gateway.yaml:22
            not headed: path is not /headed  gateway.yaml:27
policies  ✓ authorization applied, at the listener  gateway.yaml:7
              false: deny if source.address == "10.9.9.9"
          ✓ jwtAuth applied  gateway.yaml:14
          ✓ authorization applied  gateway.yaml:15
              true: allow if jwt.role == "admin"
              false: deny if request.path.contains("secret")
          ✓ localRateLimit applied: 4 of 5 left, next fill in 10 s  gateway.yaml:16
          ✓ requestHeaderModifier applied  gateway.yaml:17
backend   chat/backend0 (host): drawn by weight, 9 of 10, with seed 1  gateway.yaml:19
            not chat/backend1: not drawn: weight 1 of 10  gateway.yaml:20
            not chat/backend2: weight 0: never drawn  gateway.yaml:21
sent      to a.test:80, answered with 200
            - POST http://api.example.com:3000/v1/chat
            + POST http://a.test/v1/chat
              accept: application/json
              content-length: 7
              content-type: application/json
            - host: api.example.com:3000
            - x-team: a
            + host: a.test
            + x-key: hidden
              the body as it came
response  200
            content-type: application/json
            content-length: 2
            x-ratelimit-limit: 5
            x-ratelimit-remaining: 4
            x-ratelimit-reset: 10
            {}
unknown   whether a token with these claims is signed, assumed it is
          what earlier requests have taken of the budget, assumed nothing
          what a.test:80 answers, assumed 200 with a minimal body (--stub a.test:80=STATUS[:FILE])
`)
})

test('a line too long for the terminal is wrapped with extra indentation', async () => {
  const io = memoryIo({ cwd: folder, terminal: true, env: { NO_COLOR: '1' } })
  await main(['route', '-f', 'gateway.yaml', ...AT, ...CHAT, ...ADMIN, '--json', '{"a": 1}'], io, root)
  expect(Math.max(...io.stdout.text.split('\n').map(line => line.length))).toBeLessThanOrEqual(80)
  expect(io.stdout.text).toContain(`          what a.test:80 answers, assumed 200 with a minimal body (--stub
            a.test:80=STATUS[:FILE])\n`)
})

describe('the verdict determines the exit code', () => {
  test.each<[string, string[], number, Partial<Explanation>]>([
    [
      'a backend response of any status',
      [...CHAT, ...ADMIN, '--stub', '*=500'],
      0,
      { verdict: 'reached', status: 500 },
    ],
    ['a direct response', ['http://api.example.com:3000/x'], 0, { verdict: 'answered', status: 404 }],
    ['a redirect', ['http://other:3000/x'], 0, { verdict: 'answered', status: 302 }],
    ['a refusal', [...CHAT, '--jwt-claims', '{"role": "user"}'], 1, { verdict: 'rejected', status: 403 }],
    ['no token', CHAT, 1, { verdict: 'rejected', status: 401, reason: 'JwtAuth' }],
    ['no route', ['PUT', 'http://api.example.com:3000/v1/chat'], 1, { verdict: 'unmatched', status: 404 }],
    ['a backend that is down', [...CHAT, ...ADMIN, '--stub', 'a.test=down'], 1, { verdict: 'failed', status: 503 }],
    ['an expected status', [...CHAT, '--expect', '401'], 0, { verdict: 'rejected' }],
    ['an unexpected status', [...CHAT, ...ADMIN, '--expect', '403'], 1, { verdict: 'reached' }],
  ])('%s', async (_, argv, code, expected) => {
    expect(await explained(argv)).toMatchObject({ ...expected, code })
  })

  test('the format does not change the exit code', async () => {
    for (const format of ['text', 'json', 'test', 'mermaid'])
      expect((await route([...CHAT, '-o', format])).code).toBe(1)
  })
})

describe('why a route was not chosen', () => {
  test.each<[string, string[], string]>([
    ['another host', ['http://other:3000/'], 'not api: host is not api.example.com  gateway.yaml:4'],
    ['another method', ['http://api.example.com:3000/v1'], 'not chat: method is not POST (the nearest of 2 matches)'],
    ['a missing header', ['http://api.example.com:3000/headed'], 'not headed: header x-role is missing'],
    ['a header with another value', ['http://api.example.com:3000/headed', '-H', 'x-role: b'], 'x-role does not match'],
    [
      'a query parameter with another value',
      ['POST', 'http://api.example.com:3000/v1?team=b'],
      'query parameter team does not match',
    ],
    [
      'a more specific route',
      ['http://api.example.com:3000/keyed'],
      'not fallback: less specific: / is not an exact path',
    ],
    ['another path', ['POST', 'http://api.example.com:3000/keyed'], 'not chat: path is not under /v1'],
  ])('%s', async (_, argv, text) => {
    expect((await route(argv)).out).toContain(text)
  })

  test('only the nearest routes are shown, all with --all-routes', async () => {
    const routes = Array.from({ length: 9 }, (_, i) => `    - {name: r${i}, matches: [{path: {exact: /r${i}}}]}\n`)
    writeFileSync(join(folder, 'many.yaml'), `binds:\n- port: 3000\n  listeners:\n  - routes:\n${routes.join('')}`)
    const few = await route(['http://h:3000/r7'], 'many.yaml')
    expect(few.out.match(/not r\d/g)).toHaveLength(5)
    expect(few.out).toContain('and 3 more (--all-routes)')
    const all = await route(['http://h:3000/r7', '--all-routes'], 'many.yaml')
    expect(all.out.match(/not r\d/g)).toHaveLength(8)
  })
})

describe('the request', () => {
  test('is read from a saved curl command', async () => {
    const { request, code } = await explained(['--curl', 'copied.sh', ...ADMIN])
    expect(code).toBe(0)
    expect(request).toMatchObject({ method: 'POST', body: '{}' })
    expect(request.headers).toContainEqual(['accept-encoding', 'deflate, gzip, br, zstd'])
  })

  test('can follow -- as a curl command', async () => {
    const { request } = await explained(['--', 'curl', '-X', 'PUT', 'api.example.com:3000/a', '-d', 'b=c']).catch(() =>
      explained(['--']),
    )
    expect(request).toMatchObject({ method: 'PUT', url: 'http://api.example.com:3000/a', body: 'b=c' })
  })

  test('has a source address, a time and a TLS server name', async () => {
    const refused = await explained([...CHAT, ...ADMIN, '--source', '10.9.9.9'])
    expect(refused).toMatchObject({ status: 403, request: { source: '10.9.9.9' }, time: '2026-01-15T12:00:00.000Z' })
    expect(refused.policies.map(({ result }) => result)).toEqual(['failed'])
    const late = await explained([...CHAT, '--jwt-claims', '{"role": "admin", "exp": 1768470000}'])
    expect(late).toMatchObject({ status: 401, error: expect.stringMatching(/expired/i) })
    const inTime = await explained([...CHAT, '--jwt-claims', '{"role": "admin", "exp": 1768478401}'])
    expect(inTime.status).toBe(200)
    const other = await explained(['https://api.test:8443/', '--tls-sni', 'inner.test'], 'secure.yaml')
    expect(other).toMatchObject({ status: 421, listener: { name: expect.stringMatching(/inner$/) } })
    const unknown = await explained(['https://api.test:8443/', '--tls-sni', 'nobody.test'], 'secure.yaml')
    expect(unknown).toMatchObject({ code: 1, verdict: 'unmatched', status: null, listener: { name: null } })
    expect(unknown.error).toBe('TLS is refused: no listener serves nobody.test')
    const { err } = await route(['http://other:3000/x', '--tls-sni', 'inner.test'])
    expect(err).toContain('--tls-sni has no effect: port 3000 does not speak TLS')
  })

  test('is reported when parts of it have no effect', async () => {
    const { err } = await route(
      ['http://h:3000/', '--source', '10.1.1.1', '--jwt-claims', '{}', '--api-key', 'ci'],
      'connections.yaml',
    )
    expect(err).toContain('--jwt-claims has no effect: no policy of this route takes a token.')
    expect(err).toContain('--api-key has no effect: no policy of this route takes a key.')
    expect((await route([...CHAT, ...ADMIN])).err).not.toContain('no effect')
  })

  test('takes claims from a file, or a key by its metadata', async () => {
    expect((await explained([...CHAT, '--jwt-claims', '@claims.json'])).status).toBe(200)
    const keyed = ['http://api.example.com:3000/keyed']
    expect((await explained([...keyed, '--api-key', 'ci'])).status).toBe(200)
    expect((await explained([...keyed, '--api-key', '{"team": "a"}'])).status).toBe(200)
    expect((await explained([...keyed, '--api-key', 'other'])).status).toBe(401)
    expect((await explained(keyed)).status).toBe(401)
  })

  test('reveals no credential', async () => {
    const { out } = await route([
      'http://api.example.com:3000/keyed',
      '-H',
      'authorization: Bearer very-secret',
      '-o',
      'json',
    ])
    expect(out).toContain('"status": 200')
    expect(out).toContain('<redacted>')
    expect(out).not.toContain('very-secret')
  })
})

describe('backends', () => {
  test('a different seed may draw a different one', async () => {
    const drawn = new Set<string | undefined>()
    for (let seed = 1; drawn.size < 2 && seed <= 50; seed++) {
      drawn.add((await explained([...CHAT, ...ADMIN, '--seed', String(seed)])).backends[0]?.name)
    }
    expect([...drawn].map(name => name?.at(-1)).toSorted()).toEqual(['0', '1'])
  })

  test('are replaced by stubs, and an unused stub is reported', async () => {
    const { response, assumed } = await explained([...CHAT, ...ADMIN, '--stub', 'a.test:80=201:body.json'])
    expect(response).toMatchObject({ status: 201, body: '{"from": "a file"}' })
    expect(JSON.stringify(assumed)).not.toContain('a.test')
    const { err } = await route([...CHAT, ...ADMIN, '--stub', 'a.tst:80=500'])
    expect(err).toBe('The stub a.tst:80 is not asked: did you mean `a.test:80`?\n')
  })

  const ask = (model: string, ...more: string[]) => [
    'http://h:3000/v1/chat/completions',
    '--json',
    JSON.stringify({ model, messages: [] }),
    ...more,
  ]

  test('show which model answers, and why no other', async () => {
    const big = await explained(ask('gpt-big'), 'models.yaml')
    expect(big.backends.at(-1)).toEqual({
      name: 'gpt-big',
      kind: 'model',
      why: 'asked for as gpt-big',
      others: [
        { name: 'gpt-*', why: 'less specific, or further down' },
        { name: 'small', why: 'another name' },
      ],
    })
    expect(big).toMatchObject({ verdict: 'reached', calls: [{ to: 'api.openai.com:443' }] })
    const none = await explained(ask('nobody'), 'models.yaml')
    expect(none).toMatchObject({ status: 404, code: 1 })
    expect(none.backends.at(-1)).toMatchObject({ name: 'nobody', why: 'no model fits that name' })
  })

  test('show how a virtual model chooses', async () => {
    const gold = await explained(ask('auto', '-H', 'x-tier: gold'), 'models.yaml')
    expect(gold.backends.at(-1)).toMatchObject({ name: 'gpt-big', why: 'chosen for the virtual model auto' })
    const plain = await explained(ask('auto'), 'models.yaml')
    expect(plain.backends.at(-1)).toMatchObject({
      name: 'small',
      others: [{ name: 'gpt-big', why: 'its condition does not hold, or one before it does' }],
    })
    expect(JSON.stringify(plain)).not.toContain('sk-secret')
  })
})

test('the configuration may come from stdin, or be a directory of resources', async () => {
  const piped = await route(['http://other:3000/'], '-', CONFIG)
  expect(piped).toMatchObject({ code: 0, out: expect.stringContaining('<stdin>:34') })
  mkdirSync(join(folder, 'k8s'))
  writeFileSync(join(folder, 'k8s', 'gateway.yaml'), RESOURCES)
  const { out, err } = await route(['http://h/a'], 'k8s')
  expect({ out, err }).toEqual({ out: expect.stringContaining('route     web  k8s/gateway.yaml:14'), err: '' })
})

describe('connections', () => {
  const within = ['--source', '10.1.1.1']

  test('one closed by a policy has no response', async () => {
    const closed = await explained(['http://h:3000/'], 'connections.yaml')
    expect(closed).toMatchObject({ code: 1, verdict: 'rejected', status: null, reason: 'Connection', listener: null })
    expect(closed).toMatchObject({ routes: [], calls: [], response: null, assumed: [] })
    const rules = [{ mode: 'allow', matched: false }]
    expect(closed.policies).toMatchObject([
      { policy: 'networkAuthorization', at: 'connection', result: 'failed', rules },
    ])
    const open = await explained(['http://h:3000/', ...within], 'connections.yaml')
    expect(open).toMatchObject({
      code: 0,
      policies: [{ policy: 'networkAuthorization', result: 'applied', rules: [{ matched: true }] }],
    })
    const { out } = await route(['http://h:3000/'], 'connections.yaml')
    expect(out).toContain('listener  not looked for on port 3000: the connection is closed before\n')
  })

  test('one forwarded unchanged has no request to explain', async () => {
    const { code, out, err } = await route(['http://h:3306/', ...within], 'connections.yaml')
    expect({ code, out }).toEqual({ code: 3, out: '' })
    expect(err).toContain('port 3306 forwards connections unchanged')
  })

  test.each([
    ['http://h:3000/', ['the addresses of the host that is asked for', 'what h:3000 answers']],
    [
      'https://h:3000/',
      ['what ends TLS before this port', 'the addresses of the host that is asked for', 'what h:3000 answers'],
    ],
    [
      'http://h:81/',
      [
        'what leads to port 81, which is not opened here',
        'the addresses of the host that is asked for',
        'what h:81 answers',
      ],
    ],
  ])('%s: reports what cannot be known', async (url, unknown) => {
    const { assumed } = await explained([url, ...within], 'connections.yaml')
    expect(assumed.map(each => each.unknown)).toEqual(unknown)
  })
})

describe('MCP', () => {
  test('opens a session first and starts no program, and says so', async () => {
    const { verdict, calls, assumed } = await explained(MCP_CALL('now'), 'tools.yaml')
    expect(verdict).toBe('reached')
    // Rules hide tools: it is asked which there are.
    expect(calls).toMatchObject(Array.from({ length: 2 }, () => ({ to: 'time, a program', status: 200 })))
    expect(assumed.map(({ unknown }) => unknown)).toEqual([
      'the MCP session, which the request does not name',
      'what time answers',
    ])
  })

  test('a tool that is not allowed is rejected with the rule', async () => {
    const { code, out } = await route(MCP_CALL('admin'), 'tools.yaml')
    expect(code).toBe(1)
    expect(out).toContain('✗ mcpAuthorization failed, at the backend  tools.yaml:6')
    expect(out).toContain('false: allow if mcp.tool.name == "now", for tool admin of time')
  })
})

test('reports guard decisions and conversion losses', async () => {
  const config = `llm:
  port: 3000
  guardrails:
    request: [{regex: {action: mask, rules: [{builtin: email}]}}, {regex: {action: reject, rules: [{pattern: evil}]}}]
  models: [{name: m, provider: anthropic, params: {model: c, apiKey: k}}]
`
  writeFileSync(join(folder, 'guards.yaml'), config)
  const say = (content: string) => {
    const body = JSON.stringify({ model: 'm', logit_bias: { 1: 1 }, messages: [{ role: 'user', content }] })
    return route(['POST', '/v1/chat/completions', '--json', body], 'guards.yaml')
  }
  const masked = await say('to a@b.test')
  expect(masked.code).toBe(0)
  expect(masked.out).toContain(`guard     regex on the request: mask: email  guards.yaml:4
          regex on the request: allow  guards.yaml:4
lost      logit_bias: Anthropic Messages cannot express this; dropped
`)
  const refused = await say('evil')
  expect(refused.code).toBe(1)
  expect(refused.out).toMatch(/regex on the request: reject.* {2}guards\.yaml:4\n/)
})

test('reports a host that no gateway would accept', async () => {
  const { code, err } = await route(['/v1', '-H', 'host: a b'])
  expect({ code, err }).toMatchObject({ code: 3, err: expect.stringContaining('`a b` names no host') })
})

test.each(['json', 'mermaid'])('-o %s contains no terminal control characters', async format => {
  const { out } = await route([
    ...CHAT,
    '--jwt-claims',
    '{"role": "\u009b31m"}',
    '-H',
    'x-note: a\u009b31m',
    '-o',
    format,
  ])
  expect(out).not.toContain('\u009b')
})

test('-o mermaid draws the path and marks where it ends', async () => {
  const { out } = await route([...CHAT, '--jwt-claims', '{"role": "<b>"}', '-o', 'mermaid'])
  expect(out).toMatch(/^flowchart TD\n {2}s0\["POST http:\/\/api\.example\.com:3000\/v1\/chat"\]\n/)
  expect(out).toContain('["authorization failed<br/>gateway.yaml:15"]:::bad')
  expect(out).toContain('["403 Authorization"]:::bad')
})

describe('-o test', () => {
  test.each(['', 'http://api.example.com:3000'])('omits a credential in the query: %s', async origin => {
    const config = `binds: [{port: 3000, listeners: [{routes: [{policies: {apiKey: {location: {queryParameter: {name: key}}, keys: [{key: very-secret}]}}, backends: [{host: 'a.test:80'}]}]}]}]`
    writeFileSync(join(folder, 'query.yaml'), config)
    const { out, err } = await route([`${origin}/a?key=very-secret&b=1`, '-o', 'test'], 'query.yaml')
    expect(out).toContain(`${origin}/a?b=1\n`)
    expect(out).not.toMatch(/very-secret|redacted/)
    expect(err).toContain('does without key')
  })

  test('omits the user info of a URL', async () => {
    const { out, err } = await route(['http://ann:hunter2@api.example.com:3000/a', '-o', 'test'])
    expect(out).toContain('url: http://api.example.com:3000/a\n')
    expect(err).toContain('does without authorization')
  })

  test.each<[string, string[], string]>([
    ['answered', [...CHAT, ...ADMIN, '--json', '{"a": 1}', '--stub', 'a.test=201:body.json'], 'gateway.yaml'],
    ['drawn', [...CHAT, ...ADMIN, '--seed', '7', '--stub', '*=503'], 'gateway.yaml'],
    ['down', [...CHAT, ...ADMIN, '--stub', '*=down'], 'gateway.yaml'],
    ['refused', [...CHAT, '--jwt-claims', '{"role": "user"}', '--source', '10.1.1.1'], 'gateway.yaml'],
    ['keyed', ['/keyed', '-H', 'host: api.example.com', '--api-key', 'ci'], 'gateway.yaml'],
    ['unmatched', ['PUT', 'http://api.example.com:3000/a', '-H', 'x-a: 1', '-H', 'x-a: 2'], 'gateway.yaml'],
    ['closed', ['http://h:3000/'], 'connections.yaml'],
    ['named', ['https://api.test:8443/', '--tls-sni', 'inner.test'], 'secure.yaml'],
    ['tool', MCP_CALL('now'), 'tools.yaml'],
    ['hidden', MCP_CALL('admin'), 'tools.yaml'],
  ])('%s: gwctl test agrees with the generated case', async (name, argv, file) => {
    await route(['-o', `test=cases/${name}.gwtest.yaml`, ...argv], file)
    const text = readFileSync(join(folder, 'cases', `${name}.gwtest.yaml`), 'utf8')
    expect(text).toContain(`config: ../${file}\n`)
    const io = memoryIo({ cwd: folder })
    const code = await main(['test', `cases/${name}.gwtest.yaml`], io, root)
    expect({ code, out: io.stdout.text }).toEqual({ code: 0, out: expect.stringContaining('1 passed') })
  })

  test('reports which fields it omits', async () => {
    const { out, err } = await route([...CHAT, '-H', 'authorization: Bearer very-secret', '-o', 'test'])
    expect(out).not.toMatch(/very-secret|redacted/)
    expect(err).toContain('does without authorization')
  })
})

test('-o FORMAT=PATH writes a file', async () => {
  const { out } = await route([...CHAT, '-o', 'json=out.json'])
  expect(out).toBe('')
  expect(JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8'))).toMatchObject({ verdict: 'rejected' })
})

describe('invalid input is reported', () => {
  test.each<[string[], number, string]>([
    [[], 2, 'A request needs a URL.'],
    [['ftp://h'], 2, 'not an HTTP URL'],
    [['/a', '--at', 'tomorrow'], 2, 'tomorrow is not a time'],
    [['/a', '--source', 'me'], 2, '--source takes an IP address, not me'],
    [['/a', '--jwt-claims', '[1]'], 2, '--jwt-claims takes a JSON object'],
    [['/a', '--jwt-claims', '{"secret": '], 2, '--jwt-claims takes a JSON object'],
    [['/a', '--stub', 'a'], 2, 'a is not a stub'],
    [['/a', '--stub', 'a=999'], 2, 'a=999 is not a stub'],
    [['/a', '--stub', 'a=200:missing'], 3, 'cannot read missing'],
    [['/a', '--curl', 'copied.sh'], 2, 'given twice'],
    [['--curl', 'claims.json'], 3, 'contains no curl command'],
    [['--curl', 'copied.s'], 3, 'copied.s does not exist: did you mean `copied.sh`?'],
    [['/a', '-o', 'jsn'], 2, 'unknown format jsn: did you mean `json`?'],
    [['/a', '--sed', '2'], 2, 'unknown flag --sed: did you mean `--seed`?'],
  ])('%j', async (argv, code, message) => {
    const run = await route(argv)
    expect(run).toMatchObject({ code, out: '' })
    expect(run.err).toContain(message)
  })

  test('a configuration with findings is not run, and the findings are shown', async () => {
    const { code, out, err } = await route(['/a'], 'broken.yaml')
    expect({ code, out }).toEqual({ code: 3, out: '' })
    expect(err).toContain('broken.yaml:2:3')
    expect(err).toContain('broken.yaml cannot be served')
  })

  test('a missing configuration gets a suggestion', async () => {
    expect(await route(['/a'], 'gatway.yaml')).toMatchObject({ code: 3, err: expect.stringContaining('did you mean') })
  })
})

test('the documented example gives the documented output', async () => {
  const { commands, shown } = docPage('route.md')
  const io = memoryIo({ cwd: fileURLToPath(root) })
  const code = await main([...commands[0]!.argv, '--at', '2026-01-15T12:00:00Z'], io, root)
  expect(code).toBe(0)
  expect(io.stdout.text).toBe(shown[0])
})
