import { connect } from 'node:net'
import { expect, test } from 'vitest'
import type { TraceEvent } from '../../../src/trace/trace-event.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { echo, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'

async function traced(gateway: TestGateway, path: string, headers: Record<string, string> = {}): Promise<TraceEvent[]> {
  const watch = gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  await (await fetch(`${gateway.url(8080)}${path}`, { headers })).text()
  const events: TraceEvent[] = []
  await expect
    .poll(() => {
      for (let event = watch.next(); event; event = watch.next()) events.push(event)
      return watch.finished
    })
    .toBe(true)
  watch.close()
  return events
}

test('authorization lists the result and config line of every rule', async () => {
  await using upstream = await startUpstream(echo)
  await using gateway = await startGateway(`
gateways: {default: {port: 8080}}
routes:
- policies:
    authorization:
      rules:
      - deny: request.headers["x-role"] == "contractor"
      - allow: request.method == "GET"
  backends: [{host: '${upstream.host}'}]
`)
  const events = await traced(gateway, '/', { 'x-role': 'contractor' })
  const decision = events.find(({ message }) => message.type === 'authorization')
  expect(decision).toMatchObject({
    severity: 'error',
    origins: [{ file: 'test.yaml', line: 5 }],
    message: {
      result: 'deny',
      rules: [
        { rule: 'request.headers["x-role"] == "contractor"', mode: 'deny', matched: true },
        { rule: 'request.method == "GET"', mode: 'allow', matched: true },
      ],
    },
  })
  expect(events.map(({ message }) => (message.type === 'cel' ? message.result : undefined))).toContain(true)
  expect(events.at(-1)?.message).toMatchObject({ type: 'requestFinished', status: 403 })
})

test('snapshots follow only policies that change something, and text results are hidden', async () => {
  await using upstream = await startUpstream(echo)
  await using gateway = await startGateway(`
gateways: {default: {port: 8080}}
routes:
- policies:
    localRateLimit: [{maxTokens: 9, tokensPerFill: 9, fillInterval: 1s}]
    transformations: {request: {set: {x-copy: 'request.headers["x-secret"]'}}}
  backends: [{host: '${upstream.host}'}]
`)
  const events = await traced(gateway, '/', { 'x-secret': 'hunter2', authorization: 'Bearer hunter3' })
  const stages = events.flatMap(({ message }) => (message.type === 'snapshot' ? [message.stage] : []))
  expect(stages).toEqual(['initial request', 'transformations', 'final request', 'final response'])
  const cel = events.filter(({ message }) => message.type === 'cel')
  expect(cel.map(({ message }) => message)).toMatchObject([{ result: '<text of 7 characters>' }])
  expect(JSON.stringify(events)).not.toContain('hunter3')
})

test('credentials are hidden wherever the config reads them from', async () => {
  await using upstream = await startUpstream(echo)
  await using gateway = await startGateway(`
gateways: {default: {port: 8080}}
routes:
- matches: [{path: {pathPrefix: /query}}]
  policies:
    apiKey: {location: {queryParameter: {name: key}}, keys: [{key: hunter1, metadata: {}}]}
  backends: [{host: '${upstream.host}'}]
- matches: [{path: {pathPrefix: /header}}]
  policies:
    apiKey: {location: {header: {name: X-Team}}, keys: [{key: hunter2, metadata: {}}]}
    backendAuth: {key: {value: hunter3, location: {header: {name: x-upstream}}}}
  backends: [{host: '${upstream.host}'}]
`)
  const seen = [
    await traced(gateway, '/query?a=1&key=hunter1&b=2'),
    await traced(gateway, '/header', { 'x-team': 'hunter2' }),
    // No route, no policy: still a credential.
    await traced(gateway, '/none?key=hunter1'),
  ]
  const statuses = seen.map(events => events.at(-1)?.message)
  expect(statuses).toMatchObject([{ status: 200 }, { status: 200 }, { status: 404 }])
  await expect.poll(() => gateway.logged.filter(line => line.includes('request')).length).toBe(3)
  const shown = JSON.stringify([seen, gateway.logged])
  expect(shown).not.toMatch(/hunter\d/)
  expect(shown).toContain('/query?a=1&key=<redacted>&b=2')
})

test('a protocol switch shows the response that starts it', async () => {
  await using upstream = await startUpstream(echo)
  upstream.server.on('upgrade', (_req, socket) => {
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Own: 1\r\n\r\n')
  })
  await using gateway = await startGateway(
    `gateways: {default: {port: 8080}}\nroutes: [{backends: [{host: '${upstream.host}'}]}]`,
  )
  const watch = gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  const socket = connect(Number(new URL(gateway.url(8080)).port), '127.0.0.1')
  socket.write('GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  socket.resume()
  const events: TraceEvent[] = []
  await expect
    .poll(() => {
      for (let event = watch.next(); event; event = watch.next()) events.push(event)
      return watch.finished
    })
    .toBe(true)
  watch.close()
  const { message } = events.findLast(each => each.message.type === 'snapshot')!
  expect(message).toMatchObject({ stage: 'final response', state: { status: 101 } })
  expect(JSON.stringify(message).toLowerCase()).toContain('["x-own","1"]')
})

test.each([
  ['before its response', '/never', /^waiting for /, false],
  ['while its response is buffered', '/half', /^preparing the response$/, 200],
])('a call cancelled by the request timeout %s says so', async (_name, path, step, status) => {
  const arrived = Promise.withResolvers<void>()
  await using upstream = await startUpstream((req, res) => {
    arrived.resolve()
    if (req.url === '/half') res.write('half')
  })
  const clock = new ManualClock()
  await using gateway = await startGateway(
    `
gateways: {default: {port: 8080}}
routes:
- policies: {timeout: {requestTimeout: 1m}, buffer: {response: {}}}
  backends: [{host: '${upstream.host}'}]
`,
    { clock },
  )
  const tracing = traced(gateway, path)
  // Before that, the time to connect would end first.
  await arrived.promise
  await expect.poll(() => gateway.gateway.running.report(clock).requests[0]?.step).toMatch(step)
  clock.advance(60_000)
  const events = await tracing
  const ends = events.filter(({ message }) => message.type === 'callEnd')
  expect(ends).toMatchObject([{ severity: 'error', message: { target: upstream.host, error: 'canceled' } }])
  expect(ends.map(({ message }) => 'status' in message && message.status)).toEqual([status])
  expect(events.at(-1)?.message).toMatchObject({ type: 'requestFinished', status: 504, error: 'request timeout' })
})

test('a retry shows its attempt number', async () => {
  await using upstream = await startUpstream((_req, res) => res.writeHead(503).end())
  await using gateway = await startGateway(`
gateways: {default: {port: 8080}}
routes:
- policies: {retry: {attempts: 2, codes: [503]}}
  backends: [{host: '${upstream.host}'}]
`)
  const messages = (await traced(gateway, '/')).map(({ message }) => message)
  const purposes = messages.flatMap(each => (each.type === 'callStart' ? [each.purpose] : []))
  expect(purposes).toEqual(['backend', 'backend, attempt 2', 'backend, attempt 3'])
})

test('backend policies are listed along with route policies', async () => {
  await using upstream = await startUpstream(echo)
  await using gateway = await startGateway(`
gateways: {default: {port: 8080}}
routes:
- policies: {cors: {allowOrigins: ['*']}}
  backends:
  - host: '${upstream.host}'
    policies: {requestHeaderModifier: {set: {x-backend: 'yes'}}}
`)
  const selected = (await traced(gateway, '/')).filter(({ message }) => message.type === 'policySelection')
  expect(selected).toMatchObject([
    { origins: [{ line: 4 }], message: { phase: 'route', policies: ['cors'] } },
    { origins: [{ line: 7 }], message: { phase: 'backend', policies: ['requestHeaderModifier'] } },
  ])
})
