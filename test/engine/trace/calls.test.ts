import { expect, test } from 'vitest'
import type { TraceEvent } from '../../../src/trace/trace-event.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { type OpenAiServer, sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'
import { echo, startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'

async function traced(gateway: TestGateway, path: string, init: RequestInit = {}): Promise<TraceEvent[]> {
  const watch = gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  await (await fetch(`${gateway.url(8080)}${path}`, init)).text()
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

/** Calls, choices and policies of backends, one line each. */
function linesOf(events: readonly TraceEvent[]): string[] {
  return events.flatMap(({ message: m, scope, severity }) => {
    const at = scope.length === 0 ? '' : `[${scope.join('/')}] `
    switch (m.type) {
      case 'callStart':
        return `${at}call for ${m.purpose}${m.reason === undefined ? '' : `: ${m.reason}`}`
      case 'callEnd':
        return `${at}${severity} ${m.status ?? m.error}`
      case 'policy':
        return m.phase === 'route' ? [] : `${at}${m.policy} ${m.phase} ${m.result}`
      case 'backend':
        return m.reason === undefined ? [] : `${at}${m.backend}: ${m.reason}`
      default:
        return []
    }
  })
}

const provider = (name: string, { port }: OpenAiServer, policies = '') =>
  `{name: ${name}, provider: {openAI: {}}, hostOverride: '127.0.0.1:${port}'${policies && `, policies: ${policies}`}}`

const CHAT = { method: 'POST', body: JSON.stringify({ model: 'gpt-4o', messages: [] }) }

test('a failover lists each call with its reason, policies and outcome', async () => {
  await using busy = await startOpenAiServer()
  await using good = await startOpenAiServer()
  busy.answer((_req, res) => sendJson(res, 429, { error: { message: 'too many' } }))
  await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{ai: {groups: [
  {providers: [${provider('one', busy, "{requestHeaderModifier: {set: {x-one: '1'}}}")}]},
  {providers: [${provider('two', good, '{transformations: {response: {set: {x-two: \'"2"\'}}}}')}]}]}}]}]}]}]
`)
  const events = await traced(gateway, '/v1/chat/completions', CHAT)
  expect(linesOf(events)).toEqual([
    'call for backend',
    'one: first by group and health',
    '[provider one] requestHeaderModifier backend applied',
    '[provider one] call for provider',
    '[provider one] warn 429',
    'two: one answered 429',
    '[provider two] call for provider: one answered 429',
    '[provider two] success 200',
    '[provider two] transformations response applied',
    'success 200',
  ])
  const ends = events.filter(({ message }) => message.type === 'callEnd')
  const targets = ends.map(({ message }) => message.type === 'callEnd' && message.target)
  expect(targets.slice(0, 2)).toEqual([`127.0.0.1:${busy.port}`, `127.0.0.1:${good.port}`])
  for (const { from, at } of ends) expect(from).toBeLessThanOrEqual(at)
  expect(busy.seen[0]?.headers['x-one']).toBe('1')
  expect(good.seen[0]?.headers['x-one']).toBeUndefined()
})

const mirrored = (backend: string, mirror: string) => `
binds: [{port: 8080, listeners: [{routes: [{
  backends: [{host: '${backend}'}],
  policies: {requestMirror: {backend: {host: '${mirror}'}, percentage: 1}}}]}]}]`

test('a mirror call ends when the mirror responds', async () => {
  await using upstream = await startUpstream((_req, res) => setTimeout(() => res.end('ok'), 50))
  await using mirror = await startUpstream((_req, res) => res.writeHead(500).end())
  await using gateway = await startGateway(mirrored(upstream.host, mirror.host))
  const events = await traced(gateway, '/')
  const lines = linesOf(events)
  expect(lines).toContain('[mirror] call for mirror')
  const told = events.filter(({ scope }) => scope[0] === 'mirror').map(({ origins }) => origins[0]?.line)
  expect(told).toEqual([4, 4])
  // Its failure is nobody's: it does not explain what became of the request.
  expect(lines).toContain('[mirror] warn 500')
  expect(lines).toContain('success 200')
})

test('a mirror call without a response ends with the original request', async () => {
  await using upstream = await startUpstream(echo)
  await using mirror = await startUpstream(() => {})
  await using gateway = await startGateway(mirrored(upstream.host, mirror.host), { clock: new ManualClock() })
  const events = await traced(gateway, '/')
  expect(linesOf(events).filter(line => line.startsWith('[mirror]'))).toEqual([
    '[mirror] call for mirror',
    '[mirror] warn the request was over first',
  ])
  expect(events.at(-1)?.message.type).toBe('requestFinished')
})

test('a retry states why the previous attempt failed', async () => {
  let calls = 0
  await using upstream = await startUpstream((_req, res) => res.writeHead(++calls === 1 ? 503 : 200).end())
  await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${upstream.host}'}],
  policies: {retry: {attempts: 1, codes: [503]}}}]}]}]`)
  expect(linesOf(await traced(gateway, '/')).filter(line => !line.includes('retry'))).toEqual([
    'call for backend',
    'error 503',
    'call for backend, attempt 2: attempt 1 answered 503',
    'success 200',
  ])
})
