import { describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { echo, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'
import { type OtlpReceiver, type ReceivedSpan, startReceiver } from './otlp-receiver.ts'
import { timeUntil, until } from './until.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

interface Place {
  readonly gateway: TestGateway
  readonly receiver: OtlpReceiver
  readonly clock: ManualClock
  get(
    path: string,
    headers?: Record<string, string>,
  ): Promise<{ traceparent: string | undefined; tracestate: string | undefined }>
  /** What the collector has, once `count` requests are over and the exporter has had its time. */
  spans(requests: number): Promise<ReceivedSpan[]>
}

async function withTracing(tracing: string, run: (place: Place) => Promise<void>, protocol: 'grpc' | 'http' = 'http') {
  const clock = new ManualClock()
  await using receiver = await startReceiver(protocol)
  await using upstream = await startUpstream((req, res) => {
    clock.advance(20)
    if (req.url?.includes('slow')) clock.advance(60_000)
    else if (req.url?.includes('fail')) res.writeHead(500).end()
    else echo(req, res)
  })
  const text = `
frontendPolicies:
  tracing:
    host: "${receiver.host}"
    protocol: ${protocol}
${tracing}
binds:
- port: 3000
  listeners:
  - routes:
    - name: api
      matches: [{path: {pathPrefix: /api}}]
      policies: {retry: {attempts: 1, codes: [500]}, timeout: {requestTimeout: 1m}}
      backends: [{host: "${upstream.host}"}]
    - matches: [{path: {exact: /direct}}]
      policies: {directResponse: {status: 200, body: tea}}
    - matches: [{path: {regex: '/r.*'}}]
      policies: {directResponse: {status: 200, body: tea}}
`
  await using gateway = await startGateway(text, { clock })
  await run({
    gateway,
    receiver,
    clock,
    async get(path, headers = {}) {
      const reply = await fetch(gateway.url(3000) + path, { headers })
      const sent = /^\{/.exec(await reply.clone().text()) ? ((await reply.json()) as { headers: string[] }).headers : []
      const field = (name: string) => {
        const at = sent.indexOf(name)
        return at < 0 ? undefined : sent[at + 1]
      }
      return { traceparent: field('traceparent'), tracestate: field('tracestate') }
    },
    async spans(requests) {
      await until(() => (gateway.logged.join('').match(/\trequest /g) ?? []).length === requests)
      // What is not sent within two seconds is not sent at all.
      const deadline = clock.now() + 2000
      await timeUntil(clock, () => receiver.spans.length > 0 || clock.now() >= deadline)
      return receiver.spans
    },
  })
}

const by = (spans: readonly ReceivedSpan[], name: string) => spans.find(span => span.name.startsWith(name))!

describe.each(['http', 'grpc'] as const)('over %s', protocol => {
  test('exports a root span with the log fields and one span per upstream call', async () => {
    const rules = `
    randomSampling: true
    attributes: {custom: request.path, http.host: '"elsewhere"', gone: jwt.sub, list: '[1, "a"]', map: '{"n": 2.5}'}
    resources: {deployment.environment: '"test"', gone: request.headers.x}
    remove: [src.addr]`
    await withTracing(
      rules,
      async ({ get, spans, receiver }) => {
        const sent = await get('/api/x?q=1')
        const all = await spans(1)
        expect(all.map(span => span.name)).toEqual([`GET ${all[0]?.attributes.endpoint as string}`, 'GET /api/*'])
        const [call, root] = all as [ReceivedSpan, ReceivedSpan]
        expect(root).toMatchObject({ kind: 2, parentSpanId: '', flags: 0x101, status: { code: 0 } })
        expect(root.end - root.start).toBe(20_000_000n)
        expect(root.attributes).toEqual({
          gateway: 'default/default',
          listener: 'listener0',
          route: 'default/api',
          endpoint: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
          'http.method': 'GET',
          'http.path': '/api/x?q=1',
          'http.version': 'HTTP/1.1',
          'http.status': 'int:200',
          'trace.id': root.traceId,
          'span.id': root.spanId,
          protocol: 'http',
          duration: '20ms',
          'url.scheme': 'http',
          'network.protocol.version': '1.1',
          custom: '/api/x',
          'http.host': 'elsewhere',
          list: ['int:1', 'a'],
          map: { n: 2.5 },
        })
        expect(call).toMatchObject({ kind: 3, traceId: root.traceId, parentSpanId: root.spanId })
        expect(call.attributes).toMatchObject({
          'agentgateway.outbound.kind': 'Primary',
          'agentgateway.outbound.subtype': 'Http',
          'http.path': '/api/x',
          'http.status': 'int:200',
        })
        expect(sent.traceparent).toBe(`00-${root.traceId}-${call.spanId}-01`)
        expect(receiver.resources).toEqual([
          { 'service.name': 'agentgateway', 'service.version': '0', 'deployment.environment': 'test' },
        ])
        expect(receiver.calls[0]?.path).toBe(
          protocol === 'http' ? '/v1/traces' : '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
        )
      },
      protocol,
    )
  })
})

describe('an incoming trace', () => {
  test('is continued whatever its sampled flag, and logged', async () => {
    await withTracing('', async ({ get, spans, gateway }) => {
      const sent = await get('/api', { traceparent: `00-${TRACE}-${PARENT}-00`, tracestate: 'vendor=1' })
      const [call, root] = (await spans(1)) as [ReceivedSpan, ReceivedSpan]
      expect(root).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, flags: 0x301, traceState: 'vendor=1' })
      expect(call).toMatchObject({ traceId: TRACE, parentSpanId: root.spanId, flags: 0x101 })
      expect(sent).toEqual({ traceparent: `00-${TRACE}-${call.spanId}-01`, tracestate: 'vendor=1' })
      expect(gateway.logged.join('')).toContain(` trace.id=${TRACE} span.id=${root.spanId} `)
    })
  })

  test('is not started without a sampling rule', async () => {
    await withTracing('', async ({ get, spans, gateway }) => {
      expect((await get('/api')).traceparent).toBeUndefined()
      expect(await spans(1)).toEqual([])
      expect(gateway.logged.join('')).not.toContain('trace.id')
    })
  })

  test('is forwarded unchanged when not sampled here', async () => {
    const traceparent = `00-${TRACE}-${PARENT}-01`
    await withTracing('    clientSampling: false', async ({ get, spans }) => {
      expect((await get('/api', { traceparent })).traceparent).toBe(traceparent)
      expect(await spans(1)).toEqual([])
    })
  })

  test.each([
    'zz',
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
  ])('%s is ignored as invalid', async traceparent => {
    await withTracing('    randomSampling: true', async ({ get, spans }) => {
      const sent = await get('/api', { traceparent, tracestate: 'vendor=1' })
      const [, root] = (await spans(1)) as [ReceivedSpan, ReceivedSpan]
      expect(root.traceId).not.toBe(TRACE)
      expect(sent.traceparent).toContain(root.traceId)
      // What was noted about the trace that is none.
      expect(sent.tracestate).toBeUndefined()
    })
  })

  test('with a future version is parsed as far as known', async () => {
    await withTracing('', async ({ get, spans }) => {
      await get('/api', { traceparent: `cc-${TRACE}-${PARENT}-01-what` })
      expect((await spans(1))[1]).toMatchObject({ traceId: TRACE, parentSpanId: PARENT })
    })
  })
})

describe('sampling', () => {
  const sampled = async (rules: string, random: number, headers: Record<string, string> = {}) => {
    await using receiver = await startReceiver('http')
    const text = `
frontendPolicies: {tracing: {host: "${receiver.host}", protocol: http, ${rules}}}
binds: [{port: 3000, listeners: [{routes: [{policies: {directResponse: {status: 200}}}]}]}]`
    await using gateway = await startGateway(text, { random: () => random })
    await fetch(`${gateway.url(3000)}/`, { headers })
    await until(() => gateway.logged.join('').includes('duration='))
    return gateway.logged.join('').includes('trace.id=')
  }

  test.each([
    ['randomSampling: true', 0.99, true],
    ['randomSampling: false', 0, false],
    ['randomSampling: 0.5', 0.49, true],
    ['randomSampling: 0.5', 0.5, false],
    ['randomSampling: 0', 0, false],
    ['randomSampling: "0.25"', 0.2, true],
    ['randomSampling: "0.25"', 0.3, false],
    ['randomSampling: "1"', 0.99, true],
    [`randomSampling: 'request.path == "/"'`, 0.99, true],
    [`randomSampling: 'request.headers["x-sample"] == "yes"'`, 0, false],
  ])('%s at %d: %s', async (rules, random, expected) => {
    expect(await sampled(rules, random)).toBe(expected)
  })

  test.each([
    ['randomSampling: true, clientSampling: 0.5', 0.5, false],
    ['clientSampling: 0.5', 0.4, true],
    [`clientSampling: 'request.headers["x-sample"] == "yes"'`, 0, false],
  ])('%s, for requests with a traceparent', async (rules, random, expected) => {
    expect(await sampled(rules, random, { traceparent: `00-${TRACE}-${PARENT}-01` })).toBe(expected)
  })
})

describe('spans', () => {
  test('each attempt has its own span, and failures are marked as errors', async () => {
    await withTracing('    randomSampling: true', async ({ get, spans }) => {
      await get('/api/fail')
      const all = await spans(1)
      const calls = all.filter(span => span.kind === 3)
      expect(calls.map(span => span.status.code)).toEqual([2, 2])
      expect(new Set(all.map(span => span.spanId)).size).toBe(3)
      const root = by(all, 'GET /api')
      expect(root.status.code).toBe(2)
      expect(root.attributes).toMatchObject({ 'retry.attempt': 'int:1', 'http.status': 'int:500' })
      expect(root.attributes).not.toHaveProperty('error')
    })
  })

  test('a call cancelled by the request timeout is an error', async () => {
    await withTracing('    randomSampling: true', async ({ get, spans }) => {
      await get('/api/slow')
      const [call, root] = (await spans(1)) as [ReceivedSpan, ReceivedSpan]
      expect(root).toMatchObject({ name: 'GET /api/*', status: { code: 2, message: 'request timeout' } })
      expect(call).toMatchObject({ parentSpanId: root.spanId, status: { code: 2, message: 'canceled' } })
      expect(call.attributes).toMatchObject({ 'error.type': 'canceled', 'http.path': '/api/slow' })
    })
  })

  test('are named by the matched path, the method alone, or an expression', async () => {
    await withTracing('    randomSampling: true', async ({ get, spans }) => {
      for (const path of ['/direct', '/r/17', '/none']) await get(path)
      expect((await spans(3)).map(span => span.name)).toEqual(['GET /direct', 'GET /r.*', 'GET'])
    })
    await withTracing(
      `    randomSampling: true\n    attributes: {span.name: '"to " + request.headers["x-name"]'}`,
      async ({ get, spans }) => {
        await get('/direct', { 'x-name': 'me' })
        await get('/direct')
        const all = await spans(2)
        expect(all.map(span => span.name)).toEqual(['to me', 'GET /direct'])
        expect(all[0]?.attributes).not.toHaveProperty('span.name')
      },
    )
  })

  test('are exported only if the filter matches', async () => {
    await withTracing('    randomSampling: true\n    filter: response.code >= 400', async ({ get, spans }) => {
      for (const path of ['/direct', '/none', '/api']) await get(path)
      expect((await spans(3)).map(span => span.name)).toEqual(['GET'])
    })
  })

  test('omit the query of upstream calls, which may hold provider keys', async () => {
    await withTracing('    randomSampling: true', async ({ get, spans }) => {
      await get('/api?key=secret')
      expect(by(await spans(1), 'GET 127').attributes['http.path']).toBe('/api')
    })
  })
})

test('redacted() hides sensitive headers in attributes', async () => {
  await using receiver = await startReceiver('http')
  const clock = new ManualClock()
  const text = `
config: {sensitiveHeaders: [X-Session-Token]}
frontendPolicies:
  tracing:
    host: "${receiver.host}"
    protocol: http
    randomSampling: true
    attributes:
      token: request.headers.redacted()["x-session-token"]
      plain: request.headers.redacted()["x-other"]
      auth: request.headers.redacted().authorization
binds: [{port: 3000, listeners: [{routes: [{policies: {directResponse: {status: 200}}}]}]}]`
  await using gateway = await startGateway(text, { clock })
  await fetch(`${gateway.url(3000)}/`, {
    headers: { 'x-session-token': 'secret', 'x-other': 'shown', authorization: 'Bearer secret' },
  })
  await until(() => gateway.logged.join('').includes('duration='))
  clock.advance(1000)
  await until(() => receiver.spans.length === 1)
  expect(receiver.spans[0]?.attributes).toMatchObject({ token: '<redacted>', plain: 'shown', auth: '<redacted>' })
})

test('each MCP target has its own span', async () => {
  const seen: string[] = []
  const answer = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } }
  const target = () =>
    startUpstream((req, res) => {
      seen.push(String(req.headers.traceparent))
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk))
      req.on('end', () => {
        const { id } = JSON.parse(Buffer.concat(chunks).toString()) as { id: unknown }
        res.writeHead(200, { 'content-type': 'application/json' })
        res.end(JSON.stringify({ jsonrpc: '2.0', id, result: answer }))
      })
    })
  await using one = await target()
  await using two = await target()
  await using receiver = await startReceiver('http')
  const clock = new ManualClock()
  const text = `
frontendPolicies: {tracing: {host: "${receiver.host}", protocol: http, randomSampling: true}}
binds:
- port: 3000
  listeners:
  - routes:
    - backends:
      - mcp:
          targets:
          - {name: one, mcp: {host: "http://${one.host}/mcp"}}
          - {name: two, mcp: {host: "http://${two.host}/mcp"}}`
  await using gateway = await startGateway(text, { clock })
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const post = { method: 'POST', headers }
  const reply = await fetch(`${gateway.url(3000)}/mcp`, {
    ...post,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
  expect(reply.status).toBe(200)
  await reply.text()
  await until(() => gateway.logged.join('').includes('duration='))
  await timeUntil(clock, () => receiver.spans.length > 0)
  const root = by(receiver.spans, 'initialize')
  const calls = receiver.spans.filter(span => span.kind === 3)
  expect(calls.map(span => span.name).sort()).toEqual([`POST ${one.host}`, `POST ${two.host}`].sort())
  expect(calls.map(span => `00-${root.traceId}-${span.spanId}-01`).sort()).toEqual(seen.sort())
  expect(calls.every(span => span.parentSpanId === root.spanId)).toBe(true)
  expect(root.attributes).toMatchObject({ protocol: 'mcp', 'mcp.method.name': 'initialize' })
  await (
    await fetch(`${gateway.url(3000)}/mcp`, { ...post, body: '{"jsonrpc": "2.0", "id": 2, "method": "x/1"}' })
  ).text()
  await timeUntil(clock, () => receiver.spans.some(({ name }) => name === '_OTHER'))
  expect(by(receiver.spans, '_OTHER').attributes).toMatchObject({ 'mcp.method.name': 'x/1' })
})
