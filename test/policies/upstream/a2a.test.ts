import { createServer, get as httpGet, type IncomingMessage } from 'node:http'
import { get as httpsGet } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { until } from '../../engine/observe/until.ts'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream } from '../../helpers/upstream.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look at cards as plain data
type Plain = any

interface Agent extends AsyncDisposable {
  readonly host: string
  readonly seen: { readonly method: string; readonly url: string; readonly headers: IncomingMessage['headers'] }[]
}

interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Written one after the other. */
  readonly events?: readonly unknown[]
}

/** An agent that answers as `answer` says for the path, or for the JSON-RPC method. */
async function startAgent(answer: (url: string, rpc: string | undefined, host: string) => Reply): Promise<Agent> {
  const seen: Agent['seen'] = []
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', chunk => {
      body += chunk
    })
    req.on('end', () => {
      const { method = '', url = '', headers } = req
      seen.push({ method, url, headers })
      const rpc = body.startsWith('{') ? JSON.parse(body).method : undefined
      const reply = answer(url, rpc, host)
      if (headers['if-none-match'] !== undefined && headers['if-none-match'] === reply.headers?.etag) {
        res.writeHead(304, { ...reply.headers }).end()
        return
      }
      const type = reply.events ? 'text/event-stream' : 'application/json'
      res.writeHead(reply.status ?? 200, { 'content-type': type, ...reply.headers })
      for (const event of reply.events ?? []) res.write(`data: ${JSON.stringify(event)}\n\n`)
      res.end(reply.events ? undefined : JSON.stringify(reply.body ?? {}))
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    host,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}

const cardOf = (host: string) => ({
  name: 'agent',
  url: `http://${host}/a2a/jsonrpc`,
  preferredTransport: 'JSONRPC',
  additionalInterfaces: [
    { url: `http://${host}/a2a/rest?x=1`, transport: 'HTTP+JSON' },
    { url: '10.0.0.1:7002', transport: 'GRPC' },
  ],
  supportedInterfaces: [
    { url: `http://${host}/a2a/jsonrpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'grpc://10.0.0.1:7002', protocolBinding: 'GRPC', tenant: 't' },
  ],
  provider: { url: 'https://example.com/us' },
  documentationUrl: 'https://example.com/docs',
  signatures: [{ protected: 'e30', signature: 'c2ln' }],
})

async function start(answer: Parameters<typeof startAgent>[0], route = '', placed: 'route' | 'backend' = 'route') {
  const agent = await startAgent(answer)
  const policies = placed === 'route' ? `policies: {a2a: {}${route}}` : `policies: {${route.slice(2)}}`
  const own = placed === 'backend' ? ', policies: {a2a: {}}' : ''
  const gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [
  {name: agents, matches: [{path: {pathPrefix: /}}], backends: [{host: '${agent.host}'${own}}], ${policies}}]}]}]`)
  const url = gateway.url(8080)
  return {
    agent,
    gateway,
    url,
    host: new URL(url).host,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await agent[Symbol.asyncDispose]()
    },
  }
}

/** One agent, below a prefix that it does not know. */
function one(host: string, prefix = ''): string {
  const rewrite = prefix === '' ? '' : ', urlRewrite: {path: {prefix: /}}'
  return `
binds: [{port: 8080, listeners: [{routes: [{matches: [{path: {pathPrefix: '${prefix || '/'}'}}],
  backends: [{host: '${host}'}], policies: {a2a: {}${rewrite}}}]}]}]`
}

/** As `fetch` does not: any path, any host. */
function rawGet(url: string, path: string, headers: Record<string, string>): Promise<string> {
  const { port } = new URL(url)
  return new Promise((resolve, reject) => {
    httpGet({ port, path, headers, agent: false }, res => resolve(text(res))).on('error', reject)
  })
}

const card: Parameters<typeof startAgent>[0] = (_url, _rpc, host) => ({
  body: cardOf(host),
  headers: { etag: '"v1"', vary: 'Accept', 'cache-control': 'max-age=60' },
})

test.each(['route', 'backend'] as const)(
  'an agent card points to the gateway, with the policy on the %s',
  async placed => {
    await using at = await start(card, '', placed)
    for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json']) {
      const response = await fetch(at.url + path)
      const got = (await response.json()) as Plain
      expect(got.url).toBe(`${at.url}/a2a/jsonrpc`)
      expect(got.additionalInterfaces.map(({ url }: Plain) => url)).toEqual([`${at.url}/a2a/rest?x=1`, at.host])
      expect(got.supportedInterfaces.map(({ url }: Plain) => url)).toEqual([
        `${at.url}/a2a/jsonrpc`,
        `grpc://${at.host}`,
      ])
      expect(got.supportedInterfaces[1].tenant).toBe('t')
      expect(got.signatures).toBeUndefined()
      expect(got.provider.url).toBe('https://example.com/us')
      expect(response.headers.get('vary')).toBe('Accept, A2A-Version, X-Forwarded-Proto')
      expect(response.headers.get('cache-control')).toBe('max-age=60')
    }
  },
)

test('a rewritten card has its own ETag', async () => {
  await using at = await start(card)
  const get = (headers: Record<string, string>) => fetch(`${at.url}/.well-known/agent-card.json`, { headers })
  const first = await get({})
  await first.text()
  const tag = first.headers.get('etag') ?? ''
  expect(tag).toMatch(/^"v1-gw\w{12}"$/)
  const again = await get({ 'if-none-match': tag })
  expect([again.status, again.headers.get('etag')]).toEqual([304, tag])
  expect(at.agent.seen.at(-1)?.headers['if-none-match']).toBe('"v1"')
  // The agent's own tag is for a card that no client of the gateway has.
  const foreign = await get({ 'if-none-match': '"v1"' })
  expect(foreign.status).toBe(200)
  await foreign.text()
  const secure = await get({ 'x-forwarded-proto': 'https' })
  expect(secure.headers.get('etag')).not.toBe(tag)
  expect(((await secure.json()) as Plain).url).toBe(`https://${at.host}/a2a/jsonrpc`)
  const elsewhere = await get({ 'x-forwarded-proto': 'https', 'if-none-match': tag })
  expect(elsewhere.status).toBe(200)
  await elsewhere.text()
})

test('a card uses the client’s path when the route rewrites it', async () => {
  await using agent = await startAgent(card)
  await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [
  {matches: [{path: {pathPrefix: /agents/one}}], backends: [{host: '${agent.host}'}],
   policies: {a2a: {}, urlRewrite: {path: {prefix: /}}}},
  {matches: [{path: {pathPrefix: /two}}], backends: [{host: '${agent.host}'}],
   policies: {a2a: {}, urlRewrite: {path: {prefix: /a2a}}}}]}]}]`)
  const url = gateway.url(8080)
  const one = (await (await fetch(`${url}/agents/one/.well-known/agent-card.json`)).json()) as Plain
  expect(one.url).toBe(`${url}/agents/one/a2a/jsonrpc`)
  expect(agent.seen.at(-1)?.url).toBe('/.well-known/agent-card.json')
  const two = (await (await fetch(`${url}/two/.well-known/agent-card.json`)).json()) as Plain
  expect(two.url).toBe(`${url}/two/jsonrpc`)
})

test.each([
  ['GET', '/a2a/rest/extendedAgentCard', undefined],
  ['GET', '/a2a/rest/v1/card', undefined],
  ['POST', '/a2a/jsonrpc', 'GetExtendedAgentCard'],
  ['POST', '/a2a/jsonrpc', 'agent/getAuthenticatedExtendedCard'],
])('the extended card at %s %s is rewritten too', async (method, path, rpc) => {
  await using at = await start((_url, called, host) => ({
    body: called === undefined ? cardOf(host) : { jsonrpc: '2.0', id: 1, result: cardOf(host) },
  }))
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: rpc })
  const init = rpc === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }
  const reply = (await (await fetch(at.url + path, { method, ...init })).json()) as Plain
  const got = rpc === undefined ? reply : reply.result
  expect(got.url).toBe(`${at.url}/a2a/jsonrpc`)
  expect(got.signatures).toBeUndefined()
  const told = `a2a.method=${rpc ?? 'GetExtendedAgentCard'}`
  await until(() => at.gateway.logged.join('').includes(told))
})

test('calls and streams pass unchanged, and their tasks are logged', async () => {
  const status = (state: string) => ({ kind: 'status-update', taskId: 't7', status: { state } })
  await using at = await start((url, rpc) => {
    const wrap = (result: unknown) => ({ jsonrpc: '2.0', id: 1, result })
    if (rpc === 'message/send') return { body: wrap({ kind: 'task', id: 't1', status: { state: 'completed' } }) }
    if (rpc === 'SendMessage') return { body: wrap({ task: { id: 't2', status: { state: 'TASK_STATE_WORKING' } } }) }
    if (rpc === 'message/stream') return { events: [status('working'), status('completed')].map(wrap) }
    if (rpc === 'tasks/get') return { body: { jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'no task' } } }
    if (url.endsWith(':stream')) return { events: [{ statusUpdate: { ...status('TASK_STATE_FAILED'), taskId: 't9' } }] }
    return { status: 404, body: { error: { code: 404 } } }
  })
  const call = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', 'a2a-extensions': 'x' }
    return (await fetch(at.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text()
  }
  for (const method of ['message/send', 'SendMessage', 'message/stream', 'tasks/get', 'unknown/method']) {
    await call('/a2a/jsonrpc', { params: { method: 'not this', deep: [{ method: 'nor this' }] }, method })
  }
  expect(await call('/rest/message:stream', { message: {} })).toContain('TASK_STATE_FAILED')
  expect(at.agent.seen[0]?.headers).toMatchObject({ 'a2a-version': '1.0', 'a2a-extensions': 'x' })
  const told = () => at.gateway.logged.join('').match(/(?<=protocol=a2a )a2a\.\S+( a2a\.\S+)*/g) ?? []
  await until(() => told().length === 6)
  expect(told()).toEqual([
    'a2a.method=message/send a2a.task.id=t1 a2a.task.state=completed',
    'a2a.method=SendMessage a2a.task.id=t2 a2a.task.state=TASK_STATE_WORKING',
    'a2a.method=message/stream a2a.task.id=t7 a2a.task.state=completed',
    'a2a.method=tasks/get a2a.error.code=-32001',
    'a2a.method=unknown/method a2a.error.code=404',
    'a2a.method=SendStreamingMessage a2a.task.id=t9 a2a.task.state=TASK_STATE_FAILED',
  ])
})

test('rewrites compressed cards, cards with a byte order mark and HEAD responses', async () => {
  const json = JSON.stringify({ url: 'http://10.0.0.1/a2a', preferredTransport: 'JSONRPC' })
  let coding = 'gzip'
  let sent = gzipSync(json)
  await using upstream = await startUpstream((_req, res) => {
    const headers = { 'content-encoding': coding, 'content-length': sent.length, etag: 'W/"1"' }
    res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(sent)
  })
  await using gateway = await startGateway(one(upstream.host))
  const url = gateway.url(8080)
  const get = (method = 'GET') => fetch(`${url}/.well-known/agent-card.json`, { method })
  const unpacked = await get()
  expect(unpacked.headers.has('content-encoding')).toBe(false)
  expect(((await unpacked.json()) as Plain).url).toBe(`${url}/a2a`)
  const head = await get('HEAD')
  expect(head.headers.get('etag')).toBe(unpacked.headers.get('etag'))
  expect(head.headers.get('etag')).toMatch(/^W\/"1-gw\w{12}"$/)
  expect(head.headers.has('content-length')).toBe(false)
  sent = sent.subarray(0, 20)
  await expect(get().then(each => each.text())).rejects.toThrow('terminated')
  coding = 'compress'
  expect(await (await get()).text()).toContain('the agent card cannot be read: its content encoding is compress')
  coding = 'identity'
  sent = Buffer.from(`\uFEFF${json}`)
  expect(((await (await get()).json()) as Plain).url).toBe(`${url}/a2a`)
})

test.each([
  ['http://agent', '/agents/one', 'http://HOST/agents/one'],
  ['http://agent/', '/agents/one', 'http://HOST/agents/one/'],
  ['http://agent', '', 'http://HOST'],
  ['http://user:pw@agent:9/a?b=c', '/agents/one', 'http://HOST/agents/one/a?b=c'],
  ['agent:9000/a2a', '', 'HOST/a2a'],
  ['ws://agent/a', '', 'ws://HOST/a'],
  ['/a2a', '', 'http://HOST/a2a'],
  ['', '', ''],
])('%j on a route with prefix %j becomes %j for clients', async (url, prefix, wanted) => {
  await using upstream = await startUpstream((_req, res) => res.end(JSON.stringify({ url })))
  await using gateway = await startGateway(one(upstream.host, prefix))
  const at = gateway.url(8080)
  const got = (await (await fetch(`${at}${prefix}/.well-known/agent-card.json`)).json()) as Plain
  expect(got.url).toBe(wanted.replace('HOST', new URL(at).host))
})

test('gRPC URLs in a card always include a port', async () => {
  const supportedInterfaces = ['https://agent:7', 'agent:7', 'grpc://agent:7'].map(url => ({
    url,
    protocolBinding: 'GRPC',
  }))
  await using upstream = await startUpstream((_req, res) => res.end(JSON.stringify({ supportedInterfaces })))
  await using gateway = await startGateway(one(upstream.host))
  const headers = { host: 'agents.example', 'x-forwarded-proto': 'https' }
  const reply = await rawGet(gateway.url(8080), '/.well-known/agent%2Dcard.json', headers)
  expect(JSON.parse(reply).supportedInterfaces.map(({ url }: Plain) => url)).toEqual([
    'https://agents.example:443',
    'agents.example:443',
    'grpcs://agents.example:443',
  ])
})

test('with TLS and the policy on route and backend, a card is rewritten once to the requested URL', async () => {
  const authority = createAuthority('test authority')
  const server = createCertificate(authority, ['localhost'])
  await using upstream = await startUpstream((_req, res) => res.end(JSON.stringify({ url: 'http://10.0.0.1/a2a' })))
  await using gateway = await startGateway(
    `
binds: [{port: 8080, listeners: [{protocol: HTTPS, tls: {cert: server.pem, key: server.key}, routes: [
  {matches: [{path: {pathPrefix: /one}}], policies: {a2a: {}, urlRewrite: {path: {prefix: /}}},
   backends: [{host: '${upstream.host}', policies: {a2a: {}}}]}]}]}]`,
    { files: { 'server.pem': server.cert, 'server.key': server.key } },
  )
  const { port } = new URL(gateway.url(8080))
  const got = await new Promise<string>((resolve, reject) => {
    const from = { host: 'localhost', port, path: '/one/.well-known/agent-card.json', ca: authority.cert, agent: false }
    httpsGet(from, res => resolve(text(res))).on('error', reject)
  })
  expect(JSON.parse(got).url).toBe(`https://localhost:${port}/one/a2a`)
})

test('the method of a call is found after long parameters', async () => {
  await using at = await start((_url, rpc, host) => ({ body: { id: 1, result: rpc ? cardOf(host) : {} } }))
  const body = JSON.stringify({ params: 'x'.repeat(100_000), method: 'GetExtendedAgentCard', id: 1 })
  const headers = { 'content-type': 'application/json' }
  const reply = (await (await fetch(at.url, { method: 'POST', headers, body })).json()) as Plain
  expect(reply.result.url).toBe(`${at.url}/a2a/jsonrpc`)
})

test('survives hostile cards and requests', async () => {
  let reply: Reply = {}
  await using at = await start(() => reply)
  const get = async () => (await fetch(`${at.url}/.well-known/agent-card.json`)).text()
  reply = { body: 'x'.repeat(3 * 1024 * 1024) }
  await expect(get()).rejects.toThrow('terminated')
  reply = { body: 'x'.repeat(3 * 1024 * 1024), headers: { 'content-length': String(3 * 1024 * 1024 + 2) } }
  expect(await get()).toBe('upstream call failed: the agent card cannot be read: it is longer than 2097152 bytes')
  reply = { body: { url: 7, supportedInterfaces: [null, 1, { url: {} }], additionalInterfaces: 'x' } }
  expect(JSON.parse(await get())).toEqual({
    url: 7,
    supportedInterfaces: [null, 1, { url: {} }],
    additionalInterfaces: 'x',
  })
  reply = { body: [1] }
  expect(await get()).toBe('[1]')
  reply = { status: 500, body: { url: 'http://internal/' } }
  expect(await get()).toBe('{"url":"http://internal/"}')
  const headers = { 'content-type': 'application/json' }
  const long = await fetch(at.url, { method: 'POST', headers, body: `{"a":"${'x'.repeat(100_000)}","method":"late"}` })
  expect(long.status).toBe(500)
})
