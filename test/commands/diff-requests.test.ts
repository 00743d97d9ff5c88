import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { openDryGateway } from '../../src/tools/dry-run/dry-run.ts'
import { memoryIo } from '../cli/memory-io.ts'

const root = new URL('../../', import.meta.url)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-diff-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)

async function gwctl(...argv: string[]) {
  const io = memoryIo({ cwd: folder })
  const code = await main(['diff', ...argv], io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

const JWT = `jwtAuth: {mode: strict, issuer: i, jwks: '{"keys":[]}'}`

/** A route with these policies, with its backend at this address. */
function config({ policies = '', match = 'pathPrefix: /v1', backends = `{host: '127.0.0.1:1'}` } = {}): string {
  return `binds:
- port: 8080
  listeners:
  - routes:
    - name: chat
      matches: [{path: {${match}}}]
      policies: {${policies}}
      backends: [${backends}]
`
}

/** What is said of requests. */
async function requests(before: string, after: string): Promise<string> {
  write('a.yaml', before)
  write('b.yaml', after)
  const { out, err } = await gwctl('a.yaml', 'b.yaml')
  expect(err).toBe('')
  return out.slice(out.indexOf('\n\n') + 2)
}

describe('requests that demonstrate a change', () => {
  test.each<[string, Parameters<typeof config>[0], Parameters<typeof config>[0], string]>([
    [
      'access denied to a role',
      { policies: JWT },
      { policies: `${JWT}, authorization: {rules: [{deny: 'jwt.role == "contractor"'}]}` },
      'GET localhost:8080/v1 with role=contractor: 200 → 403 (route default/chat, backend 127.0.0.1:1 → policy authorization, a.yaml:8 → b.yaml:7)\n',
    ],
    [
      'access without a token',
      { policies: JWT },
      {},
      'GET localhost:8080/v1: 401 → 200 (route default/chat, policy jwtAuth → backend 127.0.0.1:1, a.yaml:7 → b.yaml:8)\n',
    ],
    [
      'a rule on a list of roles',
      { policies: `${JWT}, authorization: {rules: ['"admin" in jwt.roles']}` },
      { policies: `${JWT}, authorization: {rules: ['"owner" in jwt.roles']}` },
      'GET localhost:8080/v1 with roles=["owner"]: 403 → 200 (route default/chat, policy authorization,',
    ],
    [
      'one of several roles, combined with another condition',
      { policies: `${JWT}, authorization: {rules: ['jwt.role in ["owner", "admin", "guest"] && jwt.org == "x"']}` },
      { policies: `${JWT}, authorization: {rules: ['jwt.role in ["owner", "guest"] && jwt.org == "x"']}` },
      'GET localhost:8080/v1 with org=x, role=admin: 200 → 403 (route default/chat, policy authorization, a.yaml:7 → b.yaml:7)',
    ],
    [
      'a rule on the domain of an email address',
      { policies: `${JWT}, authorization: {rules: ['jwt.email.endsWith("@a.example")']}` },
      { policies: `${JWT}, authorization: {rules: ['jwt.email.endsWith("@b.example")']}` },
      'GET localhost:8080/v1 with email=x@b.example: 403 → 200 (route default/chat, policy authorization,',
    ],
    [
      'a rule on a header field',
      {},
      { policies: `authorization: {rules: [{deny: 'request.headers["x-team"] == "red"'}]}` },
      'GET localhost:8080/v1 with x-team: red: 200 → 403',
    ],
    [
      'an API key identified by its metadata',
      { policies: 'apiKey: {mode: strict, keys: [{key: k1, metadata: {team: a}}]}' },
      {
        policies: `apiKey: {mode: strict, keys: [{key: k1, metadata: {team: a}}]}, authorization: {rules: [{deny: 'apiKey.team == "a"'}]}`,
      },
      'GET localhost:8080/v1 with an API key of team=a: 200 → 403',
    ],
    [
      'the number of calls a limit allows',
      { policies: 'localRateLimit: [{requests: 5, unit: minutes}]' },
      { policies: 'localRateLimit: [{requests: 3, unit: minutes}]' },
      'GET localhost:8080/v1 with call 4: 200 → 429 (route default/chat, policy localRateLimit, a.yaml:7 → b.yaml:7)\n',
    ],
    [
      'a limit for some callers only',
      { policies: `${JWT}, localRateLimit: ${FREE(2)}` },
      { policies: `${JWT}, localRateLimit: ${FREE(4)}` },
      'GET localhost:8080/v1 with plan=free, call 3: 429 → 200',
    ],
    [
      'a header field that is only read',
      { policies: `transformations: {request: {set: {x-who: 'request.headers["x-user"]'}}}` },
      { policies: `transformations: {request: {set: {x-who: 'request.headers["x-name"]'}}}` },
      'GET localhost:8080/v1 with x-user: x: request header x-who: x → unset',
    ],
    [
      'a timeout',
      { policies: 'timeout: {requestTimeout: 10s}' },
      { policies: 'timeout: {requestTimeout: 20s}' },
      'GET localhost:8080/v1 with a backend that answers after 10001ms: 504 → 200 (route default/chat, policy timeout → backend 127.0.0.1:1, a.yaml:7 → b.yaml:8)\n',
    ],
    [
      'the maximum body size',
      { policies: 'buffer: {request: {maxBytes: 1000}}' },
      { policies: 'buffer: {request: {maxBytes: 2000}}' },
      'POST localhost:8080/v1 with a body of 1001 bytes: 413 → 200',
    ],
    [
      'retries',
      {},
      { policies: 'retry: {attempts: 2, codes: [503]}' },
      'GET localhost:8080/v1 with a backend that answers 503: call: GET http://127.0.0.1:1/v1 → GET http://127.0.0.1:1/v1, GET http://127.0.0.1:1/v1,',
    ],
    [
      'the origins allowed by CORS',
      { policies: `cors: {allowOrigins: ['https://a.example']}` },
      { policies: `cors: {allowOrigins: ['https://b.example']}` },
      'response header access-control-allow-origin: unset → https://b.example',
    ],
    [
      'a header sent to the backend',
      {},
      { policies: 'requestHeaderModifier: {set: {x-team: red}}' },
      'request header x-team: unset → red',
    ],
    [
      'the backend of a request',
      {},
      { backends: `{host: '127.0.0.1:2'}` },
      'GET localhost:8080/v1: call: GET http://127.0.0.1:1/v1 → GET http://127.0.0.1:2/v1 (route default/chat, backend 127.0.0.1:1 → backend 127.0.0.1:2, a.yaml:8 → b.yaml:8)\n',
    ],
    [
      'backend weights',
      { backends: `{host: '127.0.0.1:1', weight: 1}, {host: '127.0.0.1:2', weight: 1}` },
      { backends: `{host: '127.0.0.1:1', weight: 1}, {host: '127.0.0.1:2', weight: 0}` },
      'GET http://127.0.0.1:2/v1 → GET http://127.0.0.1:1/v1',
    ],
    [
      'a prefix match that becomes exact',
      {},
      { match: 'exact: /v1' },
      'GET localhost:8080/v1/elsewhere: 200 → 404 (route default/chat, backend 127.0.0.1:1 → no route,',
    ],
    [
      'a path pattern',
      { match: "regex: '/v[0-9]+/chat'" },
      { match: "regex: '/w[0-9]+/chat'" },
      'GET localhost:8080/v0/chat: 200 → 404',
    ],
    [
      'a tool that is no longer allowed',
      { backends: MCP('') },
      { backends: MCP(`mcpAuthorization: {rules: ['mcp.tool.name == "now"']}`) },
      'POST localhost:8080/v1 with tools/list: response body: tools now, some_tool → tools now (route default/chat, backend 127.0.0.1:3 → policy mcpAuthorization',
    ],
    [
      'one tool of an allowed list',
      { backends: MCP(`mcpAuthorization: {rules: ['mcp.tool.name in ["now", "later"]']}`) },
      { backends: MCP(`mcpAuthorization: {rules: ['mcp.tool.name in ["now"]']}`) },
      'POST localhost:8080/v1 with tools/call later: 200 → 400 (route default/chat, policy mcpAuthorization,',
    ],
    [
      'tools allowed on only one side, in one response',
      { backends: MCP(`mcpAuthorization: {rules: ['mcp.tool.name == "later"']}`) },
      { backends: MCP(`mcpAuthorization: {rules: ['mcp.tool.name == "now"']}`) },
      'POST localhost:8080/v1 with tools/list: response body: tools later → tools now (',
    ],
  ])('%s', async (_, before, after, told) => {
    expect(await requests(config(before), config(after))).toContain(told)
  })

  test('precedence between two routes for the same requests', async () => {
    const routes = (...ports: number[]) =>
      `binds: [{port: 80, listeners: [{routes: [${ports.map(port => `{matches: [{path: {exact: /a}}], backends: [{host: '127.0.0.1:${port}'}]}`).join()}]}]}]\n`
    const out = await requests(routes(1, 2), routes(2, 1))
    expect(out).toContain('GET localhost/a: call: GET http://127.0.0.1:1/a → GET http://127.0.0.1:2/a')
  })

  test('a rule on an impossible host does not end the comparison', async () => {
    const policies = `authorization: {rules: [{deny: 'request.headers["host"] == "a b"'}]}`
    expect(await requests(config({ policies }), config({ match: 'exact: /v1' }))).toContain('200 → 404')
  })

  test('a closed port', async () => {
    const out = await requests(config(), config().replace('8080', '8081'))
    expect(out).toContain('GET localhost:8080/v1: 200 → port closed')
    expect(out).toContain('GET localhost:8081/v1: port closed → 200')
  })

  test('a renamed model', async () => {
    const llm = (name: string) => `llm: {port: 81, models: [{name: ${name}, provider: openAI, params: {apiKey: k}}]}`
    const out = await requests(llm('fast'), llm('quick'))
    expect(out).toContain('POST localhost:81/v1/chat/completions with model fast: 200 → 404')
    expect(out).toContain('POST localhost:81/v1/chat/completions with model quick: 404 → 200')
  })

  test('do not reveal a key sent in a URL', async () => {
    const keyed = (key: string) =>
      config({
        backends: `{host: '127.0.0.1:1', policies: {backendAuth: {key: {value: ${key}, location: {queryParameter: {name: k}}}}}}`,
      })
    const out = await requests(keyed('first-key'), keyed('other-key'))
    expect(out).toContain('call: GET http://127.0.0.1:1/v1?k=<redacted> → GET http://127.0.0.1:1/v1?k=<redacted>')
    expect(out).not.toMatch(/first-key|other-key/)
  })

  test('do not reveal a configured credential', async () => {
    const llm = (key: string) => `llm: {port: 81, models: [{name: fast, provider: openAI, params: {apiKey: ${key}}}]}`
    const out = await requests(llm('sk-first'), llm('sk-other'))
    expect(out).toContain('request header authorization: <redacted> → <redacted> (another value)')
    expect(out).not.toMatch(/sk-(first|other)/)
  })
})

function FREE(calls: number): string {
  return `{conditional: [{condition: 'jwt.plan == "free"', maxTokens: ${calls}, tokensPerFill: 1, fillInterval: 60s}, {maxTokens: 9, tokensPerFill: 1, fillInterval: 60s}]}`
}

function MCP(policies: string): string {
  return `{mcp: {targets: [{name: time, mcp: {host: 'http://127.0.0.1:3/mcp'}}]}, policies: {${policies}}}`
}

test('a witness is a request whose outcome actually differs', async () => {
  write('a.yaml', config({ policies: JWT }))
  write('b.yaml', config({ policies: `${JWT}, authorization: {rules: [{deny: 'jwt.role == "contractor"'}]}` }))
  const { out } = await gwctl('a.yaml', 'b.yaml', '-o', 'json')
  const { requests } = JSON.parse(out) as { requests: { differ: { request: object; differences: object[] }[] } }
  const [first] = requests.differ
  expect(first?.differences).toEqual([{ what: 'status', before: '200', after: '403' }])
  const statuses = await Promise.all(
    ['a.yaml', 'b.yaml'].map(async file => {
      const gateway = await openDryGateway(file, { cwd: folder, env: {}, stdin: memoryIo().stdin })
      return (await gateway.run(first?.request as Parameters<typeof gateway.run>[0])).status
    }),
  )
  expect(statuses).toEqual([200, 403])
})

test('reports a change that affects no request', async () => {
  write('a.yaml', `${config()}backends: [{name: spare, host: '127.0.0.1:8'}]\n`)
  write('b.yaml', `${config()}backends: [{name: spare, host: '127.0.0.1:9'}]\n`)
  const { out, code } = await gwctl('a.yaml', 'b.yaml')
  expect(out).toContain('No request was tried: no route can have changed.\n')
  expect(code).toBe(1)
})

test('reports an unserved section and runs no request', async () => {
  write('a.yaml', config())
  write('b.yaml', `${config({ match: 'exact: /v2' })}ui: {}\n`)
  const { out, err, code } = await gwctl('a.yaml', 'b.yaml')
  expect(out).toContain('1 object differs: 1 changed.\n')
  expect(out).not.toContain('tried')
  expect(err).toContain('No request was run: b.yaml holds what is not served')
  expect(code).toBe(1)
})

describe('recorded requests', () => {
  test('from gwctl trace --raw and from HAR run through both sides', async () => {
    write('a.yaml', config())
    write('b.yaml', config({ match: 'exact: /v1' }))
    const gateway = await openDryGateway('a.yaml', { cwd: folder, env: {}, stdin: memoryIo().stdin })
    const { events } = await gateway.run({ method: 'GET', url: 'http://a.example:8080/v1/deep', headers: [] })
    write('trace.jsonl', events.map(event => `${JSON.stringify(event)}\n`).join(''))
    const recorded = await gwctl('a.yaml', 'b.yaml', '--requests', 'trace.jsonl')
    const told = 'GET a.example:8080/v1/deep: 200 → 404 (route default/chat, backend 127.0.0.1:1 → no route,'
    expect(recorded.out).toContain(told)
    expect(recorded.out).toContain('1 of 1 requests that were tried gets something else.\n')
    const entry = (path: string) => ({ request: { method: 'GET', url: `http://a.example:8080${path}`, headers: [] } })
    write('har.json', JSON.stringify({ log: { version: '1.2', entries: [entry('/v1/deep'), entry('/v1')] } }))
    const har = await gwctl('a.yaml', 'b.yaml', '--requests', 'har.json')
    expect(har.out).toContain(told)
    expect(har.out).toContain('1 of 2 requests that were tried gets something else.\n')
  })

  test('rejected by both sides are no difference', async () => {
    const to = (port: number) => config({ backends: `{host: '127.0.0.1:${port}'}` })
    write('a.yaml', to(1))
    write('b.yaml', to(2))
    const gateway = await openDryGateway('a.yaml', { cwd: folder, env: {}, stdin: memoryIo().stdin })
    const { events } = await gateway.run({ method: 'GET', url: 'http://a.example:8080/v1', headers: [] })
    const texts = events.map(event => JSON.stringify(event).replace('bind/8080', 'bind/9999'))
    write('trace.jsonl', texts.join('\n'))
    const { out } = await gwctl('a.yaml', 'b.yaml', '--requests', 'trace.jsonl')
    expect(out).toContain('None of 1 requests that were tried gets something else.\n')
  })

  test('from HAR are used as far as possible, without revealing credentials', async () => {
    write('a.yaml', config())
    write('b.yaml', config({ match: 'exact: /v1' }))
    const headers = [
      { name: 'Authorization', value: 'Bearer very-secret' },
      { name: 'Cookie', value: 'id=very-secret' },
      null,
    ]
    const entries = [
      null,
      {},
      { request: { method: 'GET', url: 'data:text/plain,x' } },
      { request: { method: 'GET', url: 'http://a.example:8080/v1/c', headers: [{ name: 'host', value: 'a b' }] } },
      { request: { method: 'PUT', url: 'http://a.example:8080/v1/a', headers, postData: { text: 5 } } },
      { request: { url: 'http://a.example:8080/v1/b', headers: {} } },
    ]
    write('har.json', JSON.stringify({ log: { entries } }))
    const { out, err, code } = await gwctl('a.yaml', 'b.yaml', '--requests', 'har.json', '-o', 'json')
    const { requests } = JSON.parse(out) as { requests: { tried: number } }
    expect([code, requests.tried]).toEqual([1, 2])
    expect(err).toBe('1 recorded request was left out: no host is known.\n')
    expect(out).not.toContain('very-secret')
  })

  test.each(['text', 'json', 'markdown', 'github'])('do not reveal credentials in their URLs: %s', async format => {
    const policies = 'apiKey: {mode: permissive, keys: [{key: other}], location: {queryParameter: {name: ticket}}}'
    write('a.yaml', config({ policies }))
    write('b.yaml', config({ policies, backends: `{host: '127.0.0.1:2'}` }))
    const query = 'team=search&access_token=very-secret-1&ticket=very-secret-2&key=very-secret-3'
    const url = `http://me:very-secret-4@a.example:8080/v1?${query}#very-secret-5`
    write('har.json', JSON.stringify({ log: { entries: [{ request: { method: 'GET', url, headers: [] } }] } }))
    const { out, err, code } = await gwctl('a.yaml', 'b.yaml', '--requests', 'har.json', '-o', format)
    expect({ code, err }).toEqual({ code: 1, err: '' })
    expect(out).toContain('redacted')
    expect(out).not.toContain('very-secret')
  })

  test.each<[string, string]>([
    ['gone.jsonl', 'gone.jsonl'],
    ['empty.har', 'empty.har is not a valid HAR document: it has no entries'],
    ['broken.har', 'broken.har is not a valid HAR document'],
  ])('%s cannot be read', async (file, message) => {
    write('a.yaml', config())
    write('broken.har', '{"log": {')
    write('empty.har', '{"log": null}')
    const { code, err } = await gwctl('a.yaml', 'a.yaml', '--requests', file)
    expect(err).toContain(message)
    expect(code).toBe(3)
  })
})

test('--limit applies even when a single route would need more', async () => {
  write('a.yaml', config({ policies: 'localRateLimit: [{requests: 5, unit: minutes}]' }))
  write('b.yaml', config({ policies: 'localRateLimit: [{requests: 3, unit: minutes}]' }))
  expect((await gwctl('a.yaml', 'b.yaml', '--limit', '3')).out).toMatch(/ of [1-3] requests that were tried /)
})

test('tries as many requests as --limit allows for many routes, and reports the coverage', async () => {
  const routes = (timeout: string) => {
    const all = Array.from({ length: 200 }, (_, i) => {
      return `{name: r${i}, matches: [{path: {pathPrefix: /p${i}}}], policies: {timeout: {requestTimeout: ${timeout}}}, backends: [{host: '127.0.0.1:1'}]}`
    })
    return `binds: [{port: 80, listeners: [{routes: [${all.join(', ')}]}]}]\n`
  }
  write('a.yaml', routes('10s'))
  write('b.yaml', routes('20s'))
  const io = memoryIo({ cwd: folder, terminal: true })
  expect(await main(['diff', 'a.yaml', 'b.yaml', '--limit', '60'], io, root)).toBe(1)
  expect(io.stdout.text).toContain('and 197 more like it; -o json has them all')
  expect(io.stdout.text).toContain('20 of 60 requests that were tried get something else.')
  expect(io.stderr.text).toContain('Trying requests: 10 of 200 routes')
  expect(io.stderr.text).toContain(
    '180 of the routes that may have changed were not tried: --limit allows more requests.',
  )
})
