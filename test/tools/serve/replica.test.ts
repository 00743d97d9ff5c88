import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { META, modern } from '../../backends/mcp/modern-server.ts'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { type Answer, ask, startReplica, type TestReplica } from '../../helpers/replica.ts'
import { rawRequest, startUpstream } from '../../helpers/upstream.ts'

const WORKERS = 2
const reply = (body: string, policies = '') =>
  `binds: [{port: 80, listeners: [{routes: [{policies: {${policies}directResponse: {status: 200, body: ${body}}}}]}]}]\n`

/** Each on a connection of its own, so that the kernel chooses a worker for each; `many` at a time. */
async function flood(port: number, total: number, many = 32): Promise<Map<number | string, number>> {
  const seen = new Map<number | string, number>()
  let left = total
  const one = async (): Promise<void> => {
    while (left > 0) {
      left--
      const outcome = await ask({ port, path: '/' }).then(
        answer => answer.status,
        (error: NodeJS.ErrnoException) => error.code ?? 'error',
      )
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: many }, one))
  return seen
}

/** The value of the only sample whose name and labels have these parts. */
function sample(metrics: string, name: string, ...labels: readonly string[]): number {
  const found = metrics.split('\n').filter(line => line.startsWith(name) && labels.every(label => line.includes(label)))
  expect(found).toHaveLength(1)
  return Number(found[0]?.slice(found[0].lastIndexOf(' ') + 1))
}

describe('limits', () => {
  test('allow as many requests as the budget across all workers', async () => {
    await using replica = await startReplica(
      reply('ok', 'localRateLimit: [{maxTokens: 50, tokensPerFill: 1, fillInterval: 1h}], '),
      WORKERS,
    )
    const seen = await flood(replica.port(80), 400)
    expect(Object.fromEntries(seen)).toEqual({ 200: 50, 429: 350 })
  })

  test('count down the remaining quota across all workers', async () => {
    await using replica = await startReplica(
      reply('ok', 'localRateLimit: [{maxTokens: 9, tokensPerFill: 1, fillInterval: 1h}], '),
      WORKERS,
    )
    const left: string[] = []
    for (let i = 0; i < 10; i++) {
      const { headers } = await ask({ port: replica.port(80) })
      left.push(headers['x-ratelimit-remaining'] as string)
    }
    expect(left).toEqual(['8', '7', '6', '5', '4', '3', '2', '1', '0', '0'])
  })

  test('show the remaining quota of all workers in metrics, even during a replacement', async () => {
    await using replica = await startReplica(
      reply('ok', 'localRateLimit: [{maxTokens: 50, tokensPerFill: 1, fillInterval: 1h}], '),
      WORKERS,
    )
    await flood(replica.port(80), 20)
    for (const { end } of [undefined, ...replica.serving.workers].map(worker => ({ end: () => worker?.end() }))) {
      await end()
      const metrics = await replica.metrics()
      expect(sample(metrics, 'agentgateway_rate_limit_remaining')).toBe(30)
      expect(sample(metrics, 'agentgateway_rate_limit_capacity')).toBe(50)
    }
  })

  test('survive a reload and a worker exit, unless the budget changes', async () => {
    const limit = (tokens: number) =>
      reply('ok', `localRateLimit: [{maxTokens: ${tokens}, tokensPerFill: 1, fillInterval: 1h}], `)
    await using replica = await startReplica(limit(10), WORKERS)
    expect((await flood(replica.port(80), 10)).get(200)).toBe(10)
    replica.write(`${limit(10)}frontendPolicies: {http: {http1MaxHeaders: 50}}\n`)
    expect(await replica.serving.reload()).toBe(true)
    await replica.serving.workers[1]?.end()
    expect((await flood(replica.port(80), 10, 1)).get(200)).toBe(undefined)
    replica.write(limit(11))
    expect(await replica.serving.reload()).toBe(true)
    expect((await flood(replica.port(80), 20)).get(200)).toBe(11)
  })
})

test('an endpoint evicted by one worker is evicted by all', async () => {
  await using bad = await startUpstream((_req, res) => res.writeHead(500).end())
  await using replica = await startReplica(
    `services: [{name: app, namespace: default, hostname: app.test, vips: [], ports: {'80': 8080}}]
workloads: [{workloadIps: [127.0.0.1], namespace: default, services: {default/app.test: {'80': ${bad.port}}}}]
binds:
- port: 80
  listeners:
  - routes:
    - backends:
      - service: {name: default/app.test, port: 80}
        policies: {health: {eviction: {consecutiveFailures: 5, duration: 1h}}}
`,
    WORKERS,
  )
  await flood(replica.port(80), 12, 1)
  const { backends } = JSON.parse((await replica.admin('/config_dump')).body) as {
    backends: { health: { state: string; timesEvicted: number }[] }[]
  }
  expect(backends[0]?.health[0]).toMatchObject({ state: 'evicted', timesEvicted: 1 })
})

describe('a worker that exits', () => {
  test('is replaced while the port stays available', async () => {
    await using replica = await startReplica(reply('ok'), WORKERS)
    const port = replica.port(80)
    const load = flood(port, 1500, 16)
    await replica.serving.workers[1]?.end()
    await replica.says('a worker has ended and is replaced')
    const seen = await load
    // Whatever it was serving at that moment is cut; nobody is turned away.
    expect(seen.get('ECONNREFUSED')).toBe(undefined)
    expect(seen.get(200)).toBeGreaterThan(1400)
    await expect.poll(() => replica.serving.workers.map(worker => worker.index)).toEqual([0, 1])
    expect((await flood(port, 100)).get(200)).toBe(100)
  })

  test('ends the traces of its requests in flight', async () => {
    let reached: () => void = () => {}
    const arrived = new Promise<void>(resolve => {
      reached = resolve
    })
    await using upstream = await startUpstream(() => reached())
    await using replica = await startReplica(
      `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]\n`,
      2,
    )
    const trace = await openTrace(replica, '')
    ask({ port: replica.port(80) }).catch(() => {})
    await arrived
    await expect.poll(() => trace.events).not.toEqual([])
    const { worker } = JSON.parse(trace.events[0] as string) as { worker: number }
    await replica.serving.workers.find(({ index }) => index === worker)?.end()
    await trace.ended
    expect(trace.events.at(-1)).toContain('the worker that served it has ended')
  })
})

interface OpenTrace {
  readonly events: string[]
  readonly ended: Promise<void>
}

/** Resolves when the server is watching. */
function openTrace(replica: TestReplica, query: string): Promise<OpenTrace> {
  const [host, port] = replica.serving.admin.split(':')
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, path: `/debug/trace${query}`, method: 'POST', agent: false }, response => {
      const events: string[] = []
      let rest = ''
      const ended = new Promise<void>(done => response.on('close', done))
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop() as string
        for (const line of lines) {
          if (line === ': ready') resolve({ events, ended })
          if (line.startsWith('data: ')) events.push(line.slice('data: '.length))
        }
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}

describe('the admin API of a replica', () => {
  test('traces exactly the requested number of requests across workers, with one sequence', async () => {
    await using replica = await startReplica(reply('ok'), WORKERS)
    const trace = await openTrace(replica, '?follow=20&seconds=60')
    await flood(replica.port(80), 60)
    await trace.ended
    const events = trace.events
      .map(text => JSON.parse(text) as { seq?: number; worker: number; request: string; message: { type: string } })
      .filter(event => event.seq !== undefined)
    expect(events.map(event => event.seq)).toEqual(events.map((_, i) => i + 1))
    expect(events.filter(event => event.message.type === 'requestStarted')).toHaveLength(20)
    expect(new Set(events.map(event => event.request)).size).toBe(20)
    expect(new Set(events.map(event => event.worker)).size).toBeGreaterThan(1)
  })

  test('sums metrics of all workers, including those that have exited', async () => {
    await using replica = await startReplica(reply('ok'), WORKERS)
    await flood(replica.port(80), 80)
    const before = await replica.metrics()
    expect(sample(before, 'agentgateway_requests_total')).toBe(80)
    expect(sample(before, 'agentgateway_request_duration_seconds_count')).toBe(80)
    expect(sample(before, 'agentgateway_request_duration_seconds_bucket', 'le="+Inf"')).toBe(80)
    expect(sample(before, 'agentgateway_build_info')).toBe(1)
    expect(sample(before, 'agentgateway_config_synchronized')).toBe(1)
    await replica.serving.workers[1]?.end()
    await replica.says('is replaced')
    await flood(replica.port(80), 20)
    expect(sample(await replica.metrics(), 'agentgateway_requests_total')).toBe(100)
  })

  test('rejects an invalid expression with the reason', async () => {
    await using replica = await startReplica(reply('ok'), 2)
    const refused = await replica.admin('/debug/trace?expression=request.%3D', 'POST')
    expect(refused.status).toBe(400)
    expect(refused.body).toContain('invalid expression')
  })

  test('sets a log level on all workers, including later ones', async () => {
    await using replica = await startReplica(reply('ok'), WORKERS)
    expect((await replica.admin('/logging?level=request=off', 'POST')).body).toContain('request=off')
    await flood(replica.port(80), 40)
    await replica.serving.workers[0]?.end()
    await replica.says('is replaced')
    await expect.poll(() => replica.serving.workers.length).toBe(WORKERS)
    await flood(replica.port(80), 40)
    expect(await replica.said('\trequest ')).toEqual([])
    await replica.admin('/logging?reset', 'POST')
    await flood(replica.port(80), 40)
    expect(await replica.said('\trequest ')).toHaveLength(40)
  })

  test('memory and tasks list every thread, and a profile covers all of them', async () => {
    await using replica = await startReplica(reply('ok'), 2)
    const names = async (path: string) =>
      (JSON.parse((await replica.admin(path)).body) as { threads: { thread: string }[] }).threads.map(t => t.thread)
    expect(await names('/memory')).toEqual(['main', 'worker 0', 'worker 1'])
    expect(await names('/debug/tasks')).toEqual(['main', 'worker 0', 'worker 1'])
    const [profile] = await Promise.all([replica.admin('/debug/pprof/heap?seconds=1'), flood(replica.port(80), 200)])
    expect(profile.status).toBe(200)
  })
})

test('tasks list requests, LLM streams, connections and MCP sessions of every worker', async () => {
  await using upstream = await startUpstream((request, response) => {
    if (!request.url?.includes('chat')) return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"id":"1","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n')
  })
  const server = join(import.meta.dirname, '../../backends/mcp/stdio-server.ts')
  await using replica = await startReplica(
    `binds:
- port: 80
  listeners:
  - routes:
    - matches: [{path: {exact: /slow}}]
      backends:
      - host: '${upstream.host}'
    - matches: [{path: {pathPrefix: /v1}}]
      backends: [{ai: {name: m, hostOverride: '${upstream.host}', provider: {openAI: {model: gpt}}}}]
    - backends: [{mcp: {targets: [{name: up, stdio: {cmd: '${process.execPath}', args: ['${server}', up]}}]}}]
- port: 81
  listeners:
  - name: raw
    protocol: TCP
    tcpRoutes:
    - backends: [{host: '${upstream.host}'}]
`,
    2,
  )
  const leave = new AbortController()
  const at = { port: replica.port(80), signal: leave.signal }
  const asked = [
    ask({ ...at, path: '/slow?key=secret' }),
    ask(
      { ...at, path: '/v1/chat/completions', method: 'POST', headers: { 'content-type': 'application/json' } },
      '{"model":"gpt","stream":true,"messages":[{"role":"user","content":"x"}]}',
    ),
  ]
  const socket = connect(replica.port(81), '127.0.0.1', () => socket.write('GET /'))
  const client = await connectMcp(replica.port(80))
  const tasks = async () => JSON.parse((await replica.admin('/debug/tasks')).body) as Record<string, unknown>
  const thread = expect.stringMatching(/^worker [01]$/)
  const age = expect.any(Number)
  await expect.poll(tasks).toMatchObject({
    requests: expect.arrayContaining([
      expect.objectContaining({
        path: '/slow',
        step: `waiting for ${upstream.host}`,
        at: 'gateway.yaml:8',
        thread,
        age,
      }),
      expect.objectContaining({ path: '/v1/chat/completions', step: 'sending the response 200', thread, age }),
    ]),
    connections: [
      {
        listener: 'raw',
        step: `connected to ${upstream.host}`,
        received: 5,
        sent: 0,
        at: 'gateway.yaml:17',
        thread,
        age,
      },
    ],
    sessions: [
      { session: client.session.slice(0, 8), calls: [], targets: [{ target: 'up', state: 'ready' }], thread, age },
    ],
  })
  expect((await replica.admin('/debug/tasks')).body).not.toMatch(`secret|${client.session}`)
  leave.abort()
  socket.destroy()
  await Promise.allSettled(asked)
  await expect.poll(async () => [(await tasks()).requests, (await tasks()).connections]).toEqual([[], []])
})

test('an abandoned profile is stopped in all workers', async () => {
  await using replica = await startReplica(reply('ok'), 2)
  const [host, port] = replica.serving.admin.split(':')
  const leave = new AbortController()
  const first = ask({ host, port, path: '/debug/pprof/profile?seconds=300', signal: leave.signal })
  const other = async () => (await replica.admin('/debug/pprof/heap?seconds=1')).status
  await expect.poll(other).toBe(429)
  leave.abort()
  await expect(first).rejects.toThrow('abort')
  await expect.poll(other).toBe(200)
})

interface McpClient {
  readonly session: string
  call(method: string, params?: object): Promise<Answer>
}

/** A client that opens a connection for each message, and so meets any worker. */
async function connectMcp(port: number, path = '/mcp'): Promise<McpClient> {
  let id = 0
  const post = (headers: Record<string, string>, message: object) =>
    ask(
      {
        port,
        path,
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      },
      JSON.stringify({ jsonrpc: '2.0', ...message }),
    )
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const begun = await post({}, { id: 0, method: 'initialize', params })
  expect(begun.status).toBe(200)
  const session = begun.headers['mcp-session-id'] as string
  await post({ 'mcp-session-id': session }, { method: 'notifications/initialized' })
  return {
    session,
    call(method, given = {}) {
      id++
      return post({ 'mcp-session-id': session }, { id, method, params: given })
    },
  }
}

describe('MCP sessions', () => {
  const server = join(import.meta.dirname, '../../backends/mcp/stdio-server.ts')
  const config = `binds:
- port: 80
  listeners:
  - routes:
    - backends: [{mcp: {targets: [{name: up, stdio: {cmd: '${process.execPath}', args: ['${server}', up]}}]}}]
`

  test('every message finds the worker whose child process the session has, or that keeps the call it continues', async () => {
    await using replica = await startReplica(config, WORKERS)
    const clients = await Promise.all(Array.from({ length: 3 }, () => connectMcp(replica.port(80))))
    for (const client of clients) {
      const answers = await Promise.all(Array.from({ length: 12 }, () => client.call('tools/list')))
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      expect(answers[0]?.body).toContain('"tools"')
    }
    // Each request is served, and counted, by one worker only.
    expect(sample(await replica.metrics(), 'agentgateway_requests_total', 'status="200"')).toBe(3 + 36)

    const _meta = { ...META, 'io.modelcontextprotocol/clientCapabilities': { sampling: {} } }
    const answered = (more: object) => {
      const params = { name: 'sample', arguments: {}, _meta, ...more }
      const { headers } = modern(1, 'tools/call', params)
      const accept = 'application/json, text/event-stream'
      const fields = { 'content-type': 'application/json', accept, ...headers }
      const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      return ask({ port: replica.port(80), path: '/mcp', method: 'POST', headers: fields }, message)
    }
    const content = { type: 'text', text: 'so be it' }
    const inputResponses = { 'question-1': { role: 'assistant', model: 'm', content } }
    for (let i = 0; i < 8; i++) {
      const asked = await answered({})
      const requestState = /"requestState":"([^"]+)"/.exec(asked.body)?.[1]
      expect((await answered({ inputResponses, requestState })).body).toContain('up sampled')
    }
  })

  test('a deleted session is gone on every worker', async () => {
    await using replica = await startReplica(config, WORKERS)
    const client = await connectMcp(replica.port(80))
    const headers = { 'mcp-session-id': client.session }
    expect((await ask({ port: replica.port(80), path: '/mcp', method: 'DELETE', headers })).status).toBe(202)
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.call('tools/list')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]))
  })

  test('a CONNECT request is not routed by a session id', async () => {
    await using replica = await startReplica(reply('ok'), 2)
    const port = replica.port(80)
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const head = `CONNECT a.test:443 HTTP/1.1\r\nhost: a.test\r\nmcp-session-id: ${id}\r\n\r\n`
      expect(await rawRequest(`http://127.0.0.1:${port}`, head)).toMatch(/^HTTP\/1\.1 405 /)
    }
    expect(await replica.said('has ended')).toEqual([])
  })

  test('the log names the client certificate, whichever worker received the message', async () => {
    const authority = createAuthority('test authority')
    const server = createCertificate(authority, ['a.test'])
    const client = createCertificate(authority, ['spiffe://td/ns/default/sa/web'])
    const folder = mkdtempSync(join(tmpdir(), 'gwctl-tls-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const files = { cert: server.cert, key: server.key, root: authority.cert }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const tls = Object.keys(files).map(name => `${name}: ${join(folder, name)}`)
    await using replica = await startReplica(
      `binds: [{port: 443, listeners: [{protocol: HTTPS, hostname: a.test, tls: {${tls.join(', ')}},
        routes: [{policies: {directResponse: {status: 200, body: ok}}}]}]}]\n`,
      2,
    )
    const options = { port: replica.port(443), host: '127.0.0.1', servername: 'a.test', ca: authority.cert, ...client }
    for (let i = 0; i < 6; i++) {
      const headers = { host: 'a.test', 'mcp-session-id': `session ${i}` }
      const sent = httpsRequest({ ...options, agent: false, headers }).end()
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      expect([answer.statusCode, await readAll(answer)]).toEqual([200, 'ok'])
    }
    await expect.poll(() => replica.said('http.status=200')).toHaveLength(6)
    expect(await replica.said('src.identity=spiffe://td/ns/default/sa/web')).toHaveLength(6)
  })

  test('a rate limit counts a message once, even if it is forwarded to another worker', async () => {
    const limited = config.replace(
      '    - backends',
      '    - policies: {localRateLimit: [{maxTokens: 12, tokensPerFill: 1, fillInterval: 1h}]}\n      backends',
    )
    await using replica = await startReplica(limited, WORKERS)
    const client = await connectMcp(replica.port(80))
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.call('tools/list')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
  })
})

describe('configuration', () => {
  test('all workers switch at the same time', async () => {
    await using replica = await startReplica(reply('old'), WORKERS)
    replica.write(reply('new'))
    expect(await replica.serving.reload()).toBe(true)
    const bodies = await Promise.all(Array.from({ length: 60 }, () => ask({ port: replica.port(80) })))
    expect(new Set(bodies.map(({ body }) => body))).toEqual(new Set(['new']))
  })

  test('an invalid config is not served by any worker', async () => {
    await using replica = await startReplica(reply('old'), WORKERS)
    replica.write(`${reply('new')}bogus: 1\n`)
    expect(await replica.serving.reload()).toBe(false)
    expect(replica.refused).toEqual(['GW102'])
    const bodies = await Promise.all(Array.from({ length: 60 }, () => ask({ port: replica.port(80) })))
    expect(new Set(bodies.map(({ body }) => body))).toEqual(new Set(['old']))
  })

  test('ports are opened and closed on reload', async () => {
    await using replica = await startReplica(reply('one'), 2)
    const first = replica.port(80)
    replica.write(reply('two').replace('port: 80', 'port: 81'))
    expect(await replica.serving.reload()).toBe(true)
    expect((await ask({ port: replica.port(81) })).body).toBe('two')
    await expect(ask({ port: first })).rejects.toThrow('ECONNREFUSED')
  })

  test('a port in use is opened by no worker, even if it is shareable', async () => {
    const shared = createServer()
    await new Promise<void>(resolve => shared.listen({ port: 0, reusePort: true }, resolve))
    const { port } = shared.address() as AddressInfo
    const portFor = (configured: number) => (configured === port ? port : undefined)
    const taken = reply('two').replace('port: 80', `port: ${port}`)
    await expect(startReplica(taken, 2, { portFor })).rejects.toThrow(`${port} is in use`)
    await using replica = await startReplica(reply('one'), 2, { portFor })
    replica.write(taken)
    expect(await replica.serving.reload()).toBe(true)
    expect(replica.port(port)).toBe(undefined)
    expect(await replica.said('cannot open a port')).toHaveLength(1)
    shared.close()
  })
})

test('a graceful stop finishes the requests of every worker', async () => {
  const waiting: (() => void)[] = []
  let all: () => void = () => {}
  const everybody = new Promise<void>(resolve => {
    all = resolve
  })
  await using upstream = await startUpstream((_req, res) => {
    res.write('first ')
    waiting.push(() => res.end('last'))
    if (waiting.length === 12) all()
  })
  const replica = await startReplica(
    `binds: [{port: 80, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]\n`,
    WORKERS,
  )
  const answers = Array.from({ length: 12 }, () => ask({ port: replica.port(80) }))
  await everybody
  const stopped = replica[Symbol.asyncDispose]()
  for (const finish of waiting) finish()
  expect((await Promise.all(answers)).map(({ body }) => body)).toEqual(answers.map(() => 'first last'))
  await stopped
})
