import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Io } from '../../../src/cli/io.ts'
import { main } from '../../../src/cli/main.ts'
import { startAdmin } from '../../../src/engine/admin/server.ts'
import { createSigner, keySet } from '../../auth/token-fixture.ts'
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

test('a traced request saved with t is a test case that passes until the config changes', async () => {
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

const EVERY_KIND = (port: number, closed: number) => `binds:
- port: 3000
  listeners:
  - routes:
    - matches: [{path: {pathPrefix: /rule}}]
      policies: {authorization: {rules: ['request.headers["x-team"] == "sales"']}}
      backends: [{host: '127.0.0.1:${port}'}]
    - matches: [{path: {pathPrefix: /near}}]
      policies: {authorization: {rules: ['source.address == "127.0.0.1"']}, directResponse: {status: 200}}
    - matches: [{path: {pathPrefix: /again}}]
      policies: {retry: {attempts: 2, codes: [503]}}
      backends: [{host: '127.0.0.1:${port}'}]
    - matches: [{path: {pathPrefix: /slow}}]
      policies: {timeout: {requestTimeout: 50ms}}
      backends: [{host: '127.0.0.1:${port}'}]
    - matches: [{path: {pathPrefix: /closed}}]
      backends: [{host: '127.0.0.1:${closed}'}]
    - matches: [{path: {pathPrefix: /mcp}}]
      policies: {mcpAuthorization: {rules: ['mcp.tool.name == "echo"']}}
      backends: [{mcp: {targets: [{name: tools, mcp: {host: 'http://127.0.0.1:${port}/tools'}}]}}]
    - matches: [{path: {pathPrefix: /limited}}]
      policies: {localRateLimit: [{maxTokens: 1, tokensPerFill: 1, fillInterval: 1h}]}
      backends: [{host: '127.0.0.1:${port}'}]
    - matches: [{path: {pathPrefix: /large}}]
      policies: {buffer: {request: {maxBytes: 8}}}
      backends: [{host: '127.0.0.1:${port}'}]
`

function mcpServer(body: string): string {
  const { id, method } = JSON.parse(body) as { id?: number; method: string }
  if (id === undefined) return ''
  const greeting = {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 's', version: '1' },
  }
  const result = method === 'initialize' ? greeting : { content: [{ type: 'text', text: 'hello' }] }
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

test('every kind of request becomes a passing case, or the file explains why it may fail', async () => {
  let asked = 0
  await using upstream = await startUpstream((req, res) => {
    if (req.url?.startsWith('/slow')) return
    if (req.url?.startsWith('/again')) return void res.writeHead([503, 503, 404][asked++] ?? 200).end()
    if (!req.url?.startsWith('/tools')) return void req.resume().on('end', () => res.end('ok'))
    const chunks: Buffer[] = []
    req
      .on('data', chunk => chunks.push(chunk))
      .on('end', () => {
        const text = req.method === 'POST' ? mcpServer(Buffer.concat(chunks).toString()) : ''
        res.writeHead(text === '' ? 202 : 200, { 'content-type': 'application/json' }).end(text)
      })
  })
  const closed = await startUpstream(() => {})
  await closed[Symbol.asyncDispose]()
  const config = EVERY_KIND(upstream.port, closed.port)
  await using gateway = await startGateway(config)
  const watch = gateway.trace.watch({ requests: 100 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  const send = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${gateway.url(3000)}${path}`, init)
    await answer.text()
    return answer
  }
  await send('/rule')
  await send('/rule', { headers: { 'x-team': 'sales' } })
  await send('/rule', { headers: { 'x-team': 'sales', authorization: 'Bearer hunter2' } })
  await send('/near')
  await send('/again')
  await send('/slow')
  await send('/closed')
  await send('/nowhere')
  const rpc = (message: object, session?: string) =>
    send('/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  const session = (await rpc({ id: 1, method: 'initialize', params })).headers.get('mcp-session-id')!
  await rpc({ method: 'notifications/initialized' }, session)
  await rpc({ id: 2, method: 'tools/call', params: { name: 'echo', arguments: {} } }, session)
  await rpc({ id: 3, method: 'tools/call', params: { name: 'drop', arguments: {} } }, session)
  await rpc({ id: 4, method: 'tools/list' }, 'unknown')
  await send('/limited')
  await send('/limited')
  await send('/large', { method: 'POST', body: 'more than eight' })
  const events: string[] = []
  await expect
    .poll(() => {
      for (let event = watch.next(); event; event = watch.next()) events.push(JSON.stringify(event))
      return events.filter(text => text.includes('"requestFinished"')).length
    })
    .toBe(16)
  watch.close()

  writeFileSync(join(folder, 'trace.jsonl'), events.join('\n'))
  writeFileSync(join(folder, 'test.yaml'), config)
  const io = memoryIo({ cwd: folder })
  expect(await main(['trace', '-f', 'trace.jsonl', '-o', 'test=all.gwtest.yaml'], io, root)).toBe(0)
  expect(io.stderr.text).toContain('May need a hand: 4 of the cases.')
  const saved = readFileSync(join(folder, 'all.gwtest.yaml'), 'utf8')
  expect(saved.match(/^# .*$/gm)).toEqual([
    '# GET /rule answers 200 (2): a trace does not have its authorization.',
    '# POST /mcp answers 202: it belongs to a session, which a case does not have.',
    '# GET /limited answers 429: a case begins with full budgets, so repeat the request before (repeat, steps).',
    '# POST /large answers 413: its body is not in the trace, or no text.',
  ])
  // Where it does not matter, it stays out: a running gateway could not be told.
  expect(saved.match(/source: .*/g)).toEqual(['source: 127.0.0.1'])
  const { out } = await runTests()
  expect(out.match(/✖ [A-Z].*?(?= {2}line)/g)).toEqual([
    '✖ POST /mcp answers 202',
    '✖ GET /limited answers 429',
    '✖ POST /large answers 413',
  ])
  expect(out).toContain('3 failed, 13 passed')
})

const CALLERS = (jwks: string) => `binds:
- port: 3000
  listeners:
  - routes:
    - matches: [{path: {pathPrefix: /token}}]
      policies:
        jwtAuth: {mode: strict, issuer: 'https://issuer.example', jwks: '${jwks}'}
        authorization: {rules: [{deny: 'jwt.roles.exists(r, r == "contractor")'}]}
        directResponse: {status: 200}
    - matches: [{path: {pathPrefix: /key}}]
      policies:
        apiKey: {mode: strict, keys: [{key: sample-key-1, metadata: {team: red}}, {key: sample-key-2, metadata: {team: blue}}]}
        authorization: {rules: ['apiKey.team == "red"']}
        directResponse: {status: 200}
`

test('a trace and its test case identify the caller without the credential', async () => {
  const signer = await createSigner('key-1', 'ES256')
  const config = CALLERS(keySet(signer))
  await using gateway = await startGateway(config)
  const watch = gateway.trace.watch({ requests: 3 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  const token = await signer.sign({ exp: Date.now() / 1000 + 3600, sub: 'alice', roles: ['contractor'] })
  const send = (path: string, credential: string) =>
    fetch(`${gateway.url(3000)}${path}`, { headers: { authorization: `Bearer ${credential}` } })
  expect((await send('/token', token)).status).toBe(403)
  expect((await send('/key', 'sample-key-1')).status).toBe(200)
  expect((await send('/key', 'sample-key-2')).status).toBe(403)
  const events: string[] = []
  await expect
    .poll(() => {
      for (let event = watch.next(); event; event = watch.next()) events.push(JSON.stringify(event))
      return watch.finished
    })
    .toBe(true)
  watch.close()
  const recorded = events.join('\n')
  expect(recorded).not.toContain(token)
  expect(recorded).not.toContain('sample-key')
  expect(recorded).toContain('"apiKey":{"team":"blue"}')

  writeFileSync(join(folder, 'trace.jsonl'), recorded)
  writeFileSync(join(folder, 'test.yaml'), config)
  const io = memoryIo({ cwd: folder })
  expect(await main(['trace', '-f', 'trace.jsonl', '-o', 'test=all.gwtest.yaml'], io, root)).toBe(0)
  expect(io.stderr.text).not.toContain('May need a hand')
  const saved = parse(readFileSync(join(folder, 'all.gwtest.yaml'), 'utf8')) as { cases: unknown[] }
  expect(saved.cases).toMatchObject([
    {
      request: { jwt: { iss: 'https://issuer.example', sub: 'alice', roles: ['contractor'] } },
      expect: { status: 403 },
    },
    { request: { apiKey: { team: 'red' } }, expect: { status: 200 } },
    { request: { apiKey: { team: 'blue' } }, expect: { status: 403 } },
  ])
  expect(await runTests()).toMatchObject({ code: 0, err: '' })
})
