import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Listening } from '../../../src/engine/admin/listen.ts'
import { startAdmin } from '../../../src/engine/admin/server.ts'
import { MAX_WATCHERS } from '../../../src/engine/trace-hub.ts'
import { call, FakeGateway, TraceClient } from './running-admin.ts'

let gateway: FakeGateway
let admin: Listening

beforeEach(async () => {
  gateway = new FakeGateway()
  admin = await startAdmin('127.0.0.1:0', gateway)
})

afterEach(() => admin.close())

const types = (client: TraceClient) => client.events.map(event => (event.message as { type: string }).type)

test('streams one request from start to end, then closes', async () => {
  const client = await TraceClient.open(admin.address)
  const x = gateway.arrive('/v1/chat?x=1')
  gateway.clock.advance(1.5)
  const origin = { file: 'config.yaml', line: 41, col: 9 }
  x.trace?.child('attempt 1').emit({ type: 'callEnd', target: 'a:80', status: 503 }, { origins: [origin], from: 200 })
  gateway.clock.advance(1)
  gateway.finish(x, 503)
  await client.ended
  expect(client.events).toEqual([
    {
      seq: 1,
      at: 0,
      severity: 'info',
      request: 'r1',
      worker: 0,
      scope: [],
      origins: [],
      message: {
        type: 'requestStarted',
        method: 'POST',
        url: 'http://api.example.com/v1/chat?x=1',
        source: '10.1.2.3:51000',
        time: '2026-01-15T12:30:45.250Z',
      },
    },
    expect.objectContaining({
      seq: 2,
      at: 1500,
      from: 200,
      severity: 'error',
      scope: ['attempt 1'],
      origins: [origin],
    }),
    expect.objectContaining({ seq: 3, at: 2500, severity: 'error' }),
  ])
  expect(client.text).not.toContain('event:')
})

test('does not capture a second request, and stops watching', async () => {
  const client = await TraceClient.open(admin.address)
  const first = gateway.arrive()
  expect(gateway.arrive().trace).toBeUndefined()
  gateway.finish(first)
  await client.ended
  expect(gateway.arrive().trace).toBeUndefined()
})

test('a request has no trace without a watcher', () => {
  expect(gateway.arrive().trace).toBeUndefined()
})

describe('an expression that slows down requests', () => {
  /** Each look at the clock finds it so many milliseconds later. */
  const passing = (ms: number) => {
    let now = 0
    gateway.clock.mono = () => {
      now += ms
      return now
    }
  }

  test.each(['', '&follow=9'])('ends the stream with the reason (%s)', async follow => {
    passing(30)
    const client = await TraceClient.open(admin.address, `?expression=request.path=="/never"${follow}`)
    for (let i = 0; i < 8; i++) gateway.arrive()
    await client.ended
    expect(client.text).toMatch(/event: end\ndata: {"reason":"filter"}\n\n$/)
    expect(gateway.arrive().trace).toBeUndefined()
  })

  test('is tolerated if each evaluation is cheap, however many there are', async () => {
    passing(1)
    const client = await TraceClient.open(admin.address, '?expression=request.path=="/v1/chat"')
    for (let i = 0; i < 50; i++) {
      gateway.arrive('/other')
      for (let ms = 0; ms < 20; ms++) gateway.clock.mono()
    }
    const x = gateway.arrive()
    gateway.finish(x)
    await client.ended
    expect(types(client)).toEqual(['requestStarted', 'requestFinished'])
  })
})

test('GET works like POST', async () => {
  const answer = call(admin.address, '/debug/trace')
  gateway.finish(await arriveWatched())
  expect((await answer).text).toMatch(/^: ready\n\ndata: .*\n\ndata: .*requestFinished.*\n\n$/)
})

test('HEAD leaves no watcher behind', async () => {
  expect(await call(admin.address, '/debug/trace', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
  expect(gateway.arrive().trace).toBeUndefined()
})

/** The first request after the server has begun to watch. */
async function arriveWatched() {
  for (;;) {
    const x = gateway.arrive()
    if (x.trace !== undefined) return x
    await new Promise(setImmediate)
  }
}

describe('filter', () => {
  test('captures the first matching request', async () => {
    const query = `?expression=${encodeURIComponent('request.path == "/b" && request.method == "POST"')}`
    const client = await TraceClient.open(admin.address, query)
    expect(gateway.arrive('/a').trace).toBeUndefined()
    gateway.finish(gateway.arrive('/b'))
    await client.ended
    expect(client.events[0]?.request).toBe('r2')
  })

  test('every matching watcher sees the request', async () => {
    const clients = [await TraceClient.open(admin.address), await TraceClient.open(admin.address)]
    gateway.finish(gateway.arrive())
    for (const client of clients) {
      await client.ended
      expect(types(client)).toEqual(['requestStarted', 'requestFinished'])
    }
  })

  test.each([
    ['request.path ==', 'invalid expression'],
    ['1 + 1', 'invalid expression'],
    ['', 'invalid expression'],
    ['request.nope == 1', 'invalid expression'],
    ['jwt.sub == "alice"', 'jwt'],
    ['request.body.size() > 3', 'body'],
  ])('%s is rejected with the reason', async (expression, reason) => {
    const answer = await call(admin.address, `/debug/trace?expression=${encodeURIComponent(expression)}`)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain(reason)
    expect(gateway.arrive().trace).toBeUndefined()
  })

  test('an expression that fails on a request does not match it', async () => {
    const client = await TraceClient.open(
      admin.address,
      `?expression=${encodeURIComponent('request.headers["x"] == "1"')}`,
    )
    expect(gateway.arrive().trace).toBeUndefined()
    client.leave()
  })
})

describe('follow', () => {
  test('captures the given number of requests, interleaved, and gives the end reason', async () => {
    const client = await TraceClient.open(admin.address, '?follow=2')
    const first = gateway.arrive('/1')
    const second = gateway.arrive('/2')
    gateway.finish(second)
    gateway.finish(first)
    await client.ended
    expect(client.events.map(event => event.request)).toEqual(['r1', 'r2', 'r2', 'r1'])
    expect(client.events.map(event => event.seq)).toEqual([1, 2, 3, 4])
    expect(client.text).toMatch(/event: end\ndata: \{"reason":"requests"\}\n\n$/)
  })

  test('ends after the given time, even during a request', async () => {
    const client = await TraceClient.open(admin.address, '?follow=5&seconds=30')
    const x = gateway.arrive()
    gateway.clock.advance(30_000)
    await client.ended
    expect(client.text).toMatch(/event: end\ndata: \{"reason":"time"\}\n\n$/)
    x.trace?.emit({ type: 'cel', expression: 'late' })
    expect(gateway.arrive().trace).toBeUndefined()
  })

  test('has a time limit by default', async () => {
    const client = await TraceClient.open(admin.address, '?follow=5')
    gateway.clock.advance(600_000)
    await client.ended
    expect(client.text).toContain('"reason":"time"')
  })

  test('reports the shutdown of the gateway', async () => {
    const client = await TraceClient.open(admin.address, '?follow=5')
    gateway.trace.close()
    await client.ended
    expect(client.text).toContain('"reason":"shutdown"')
  })

  test.each(['follow=0', 'follow=1001', 'follow=-1', 'follow=x', 'follow=', 'follow=2&seconds=3601', 'seconds=1.5'])(
    '%s is rejected',
    async query => {
      const answer = await call(admin.address, `/debug/trace?${query}`)
      expect(answer.status).toBe(400)
      expect(answer.text).toMatch(/takes a number from 1 to/)
    },
  )

  test('a misspelled parameter is rejected instead of streaming everything', async () => {
    const answer = await call(admin.address, '/debug/trace?expresion=false')
    expect([answer.status, answer.text]).toEqual([
      400,
      'there is no parameter expresion: expression, follow, seconds\n',
    ])
    expect(gateway.arrive().trace).toBeUndefined()
  })
})

describe('slow and disconnected readers', () => {
  test('a keepalive comment is sent after each idle second, but not while events flow', async () => {
    const client = await TraceClient.open(admin.address)
    gateway.clock.advance(1000)
    await client.until(text => text.includes(': keepalive\n\n'))
    const x = gateway.arrive()
    await client.until(text => text.includes('requestStarted'))
    gateway.clock.advance(1000)
    gateway.finish(x)
    await client.ended
    expect(client.text.match(/: keepalive/g)).toHaveLength(1)
  })

  test('a disconnecting client frees its slot and its timers', async () => {
    const client = await TraceClient.open(admin.address, '?follow=3&seconds=60')
    const x = gateway.arrive()
    client.leave()
    while (gateway.clock.pending > 0) await new Promise(setImmediate)
    expect(() => x.trace?.emit({ type: 'cel', expression: 'nobody' })).not.toThrow()
    expect(gateway.arrive().trace).toBeUndefined()
  })

  test('dropped events are counted where they are missing, and the end is never dropped', async () => {
    const client = await TraceClient.open(admin.address)
    const x = gateway.arrive()
    // One turn of the event loop: no reader can keep up with that.
    for (let i = 0; i < 5000; i++) x.trace?.emit({ type: 'cel', expression: String(i) })
    gateway.finish(x)
    await client.ended
    const events = client.events
    expect(events.map(event => event.seq)).toEqual(events.map((_, i) => i + 1))
    const dropped = events.filter(event => (event.message as { type: string }).type === 'dropped')
    expect(dropped).toHaveLength(1)
    const shown = events.filter(event => (event.message as { type: string }).type === 'cel').length
    expect(dropped[0]?.message).toEqual({ type: 'dropped', count: 5000 - shown })
    expect(shown).toBeGreaterThan(500)
    expect(types(client).at(-1)).toBe('requestFinished')
  })

  test('bodies have a separate limit', async () => {
    const client = await TraceClient.open(admin.address)
    const x = gateway.arrive()
    const base64 = 'A'.repeat(1024 * 1024)
    for (let i = 0; i < 10; i++) x.trace?.emit({ type: 'body', stage: 's', bytes: 1, base64, truncated: false })
    gateway.finish(x)
    await client.ended
    expect(types(client)).toEqual(['requestStarted', 'body', 'body', 'body', 'body', 'dropped', 'requestFinished'])
  })

  test('the number of watchers is limited', async () => {
    const clients = await Promise.all(Array.from({ length: MAX_WATCHERS }, () => TraceClient.open(admin.address)))
    expect((await call(admin.address, '/debug/trace')).status).toBe(429)
    for (const client of clients) client.leave()
  })
})
