import { describe, expect, test } from 'vitest'
import type { Backend } from '../../src/backends/backend.ts'
import { runDone } from '../../src/calls/run-policies.ts'
import { assemble, responseSteps } from '../../src/config/assemble-pipeline.ts'
import { frontendSettings } from '../../src/config/frontend-settings.ts'
import { offlineRuntime } from '../../src/config/offline-runtime.ts'
import type { Bind, Listener, Route, Snapshot, Step } from '../../src/config/snapshot.ts'
import { handle } from '../../src/engine/handle.ts'
import { HeadSnapshots } from '../../src/engine/head-snapshot.ts'
import { newPassage } from '../../src/engine/passage.ts'
import { RouteTable } from '../../src/engine/route-table.ts'
import { bodyOf, Exchange } from '../../src/http/exchange.ts'
import { HeaderList } from '../../src/http/headers.ts'
import type { Hooks } from '../../src/policies/policy.ts'
import { startGateway } from '../helpers/gateway.ts'
import { memoryDownstream } from '../helpers/memory-downstream.ts'
import { ManualClock } from './manual-clock.ts'

const origin = { file: 'test.yaml', line: 1, col: 1 }

describe('the pipeline without a socket', () => {
  test('every policy hook runs at its stage, even around an in-memory backend', async () => {
    const order: string[] = []
    const hooks: Hooks = {
      request: x => {
        order.push('request')
        x.request.headers.set('x-seen', 'yes')
        return undefined
      },
      attempt: () => {
        order.push('attempt')
        return undefined
      },
      response: x => {
        order.push('response')
        x.response!.headers.set('x-response', 'touched')
      },
      requestBody: () => ({ chunk: data => Buffer.from(data.toString().toUpperCase()), end: () => Buffer.from('!') }),
      responseBody: () => {
        let held = Buffer.alloc(0)
        return {
          chunk: data => {
            held = Buffer.concat([held, data])
            return undefined
          },
          end: () => Buffer.from(`[${held}]`),
        }
      },
      done: () => order.push('done'),
    }
    const { x, out, passage } = await run(hooks, { body: 'ping' })
    runDone(passage.route?.done, x)
    expect(out.status).toBe(200)
    expect(out.text()).toBe('[echo PING! yes]')
    expect(out.header('x-response')).toBe('touched')
    expect(order).toEqual(['request', 'attempt', 'response', 'done'])
  })

  test('an asynchronous policy holds the body back without losing any of it', async () => {
    const { out } = await run({ response: () => Promise.resolve().then(() => {}) }, { body: 'a' })
    expect(out.text()).toBe('echo a undefined')
  })

  test.each([
    ['is not answered twice', () => undefined, 504],
    ['is cut off if a policy fails on its response', () => Promise.reject(new Error('broken')), undefined],
  ])('a request that times out while a policy waits %s', async (_name, atEnd, status) => {
    const clock = new ManualClock()
    const waits = Promise.withResolvers<void>()
    const hooks: Hooks = {
      timeout: { request: 1000 },
      response: x => {
        if (x.response?.status === 504) return atEnd()
        setImmediate(() => {
          clock.advance(1000)
          waits.resolve()
        })
        return waits.promise
      },
    }
    const { out } = await run(hooks, {}, { ...offlineRuntime(), clock })
    await expect.poll(() => out.state).toBe('ended')
    expect([out.status, out.text()]).toEqual([status, status === undefined ? '' : 'request timeout'])
  })

  test('an unexpected exception in a policy answers 500 without any details', async () => {
    const { out } = await run({
      request: () => {
        throw new Error('secret detail')
      },
    })
    expect([out.status, out.text()]).toEqual([500, 'internal error'])
  })
})

describe('state belongs to the policy object', () => {
  const limited = (routes: string) => `
gateways: {default: {port: 8080}}
policies:
- name: {name: ceiling}
  target: {gateway: {gatewayName: default}}
  policy: {localRateLimit: [{maxTokens: 3, tokensPerFill: 3, fillInterval: 1h}]}
routes:${routes}
`
  const reply = (name: string, body: string) => `
- {name: ${name}, matches: [{path: {pathPrefix: /${name}}}], policies: {directResponse: {status: 200, body: ${body}}}}`

  test('a gateway limit is one budget across its routes, and survives a reload of another object', async () => {
    await using gateway = await startGateway(limited(reply('a', 'one') + reply('b', 'two')))
    const get = async (path: string) => (await fetch(`${gateway.url(8080)}${path}`)).status
    expect([await get('/a'), await get('/b')]).toEqual([200, 200])
    expect(await gateway.reload(limited(reply('a', 'changed') + reply('b', 'two')))).toEqual([])
    expect(await (await fetch(`${gateway.url(8080)}/a`)).text()).toBe('changed')
    expect([await get('/a'), await get('/b')]).toEqual([429, 429])
  })

  test('a changed limit starts fresh', async () => {
    await using gateway = await startGateway(limited(reply('a', 'one')))
    const get = async () => (await fetch(`${gateway.url(8080)}/a`)).status
    expect([await get(), await get(), await get(), await get()]).toEqual([200, 200, 200, 429])
    await gateway.reload(limited(reply('a', 'one')).replace('maxTokens: 3', 'maxTokens: 4'))
    expect(await get()).toBe(200)
  })

  test('a rejected reload leaves the state of the running configuration alone', async () => {
    await using gateway = await startGateway(limited(reply('a', 'one')))
    const get = async () => (await fetch(`${gateway.url(8080)}/a`)).status
    expect([await get(), await get()]).toEqual([200, 200])
    expect(await gateway.reload(`${limited(reply('a', 'one'))}\nnonsense: true`)).toHaveLength(1)
    expect([await get(), await get()]).toEqual([200, 429])
  })
})

async function run(hooks: Hooks, request: { body?: string } = {}, runtime = offlineRuntime()) {
  const step: Step = { policy: 'cors', hooks, spec: {}, origins: [origin] }
  const backend: Backend = {
    key: 'echo',
    name: 'echo',
    kind: 'test',
    protocol: 'http',
    origin,
    replayable: true,
    send(x, _attempt, on) {
      const body = x.body.take()
      const sink = on.head(200, new HeaderList(['content-type', 'text/plain']))
      sink.write(Buffer.from('echo '))
      sink.write(Buffer.from(`${Buffer.isBuffer(body) ? body.toString() : ''} ${x.request.headers.get('x-seen')}`))
      sink.end()
    },
  }
  const pipeline = assemble([step])
  const atBackend = assemble(hooks.attempt ? [{ ...step, hooks: { attempt: hooks.attempt } }] : [], true)
  const route: Route = {
    key: 'r',
    name: 'r',
    namespace: 'default',
    ruleName: undefined,
    origin,
    hostnames: [],
    matches: [{ path: { pathPrefix: '/' }, headers: [], query: [] }] as unknown as Route['matches'],
    shownMatches: [],
    pipeline,
    backends: [{ weight: 1, backend, pipeline: atBackend, ...responseSteps(pipeline, atBackend), spec: {}, origin }],
    totalWeight: 1,
  }
  const listener: Listener = {
    key: 'l',
    name: 'l',
    namespace: 'default',
    gateway: 'default',
    origin,
    hostname: '',
    protocol: 'HTTP',
    pipeline: assemble([]),
    routes: [route],
    tcpRoutes: [],
    passthrough: false,
  }
  const bind: Bind = {
    key: 'bind/80',
    port: 80,
    listeners: [listener],
    listenerFor: () => listener,
    protocol: 'http',
    frontend: frontendSettings([]),
    connection: [],
    origin,
  }
  const serving = {
    snapshot: { binds: [bind] } as unknown as Snapshot,
    tables: new Map([[listener, new RouteTable([route])]]),
    heads: new HeadSnapshots(),
  }
  const x = new Exchange({
    id: '1',
    connection: { id: 1, address: '127.0.0.1', port: 1, localPort: 80 },
    startedAt: 0,
    startedMono: 0,
    httpVersion: '1.1',
    request: {
      method: 'POST',
      scheme: 'http',
      authority: 'example.com',
      path: '/',
      headers: new HeaderList(['host', 'example.com']),
    },
    body: bodyOf(request.body === undefined ? undefined : Buffer.from(request.body)),
  })
  const out = memoryDownstream()
  const passage = newPassage()
  await handle(x, bind, serving, out, passage, runtime)
  return { x, out, passage }
}
