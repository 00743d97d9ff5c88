import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'
import { startUpstream, type Upstream } from '../helpers/upstream.ts'
import { ManualClock } from './manual-clock.ts'

interface Seen {
  readonly attempt: string | undefined
  readonly body: string
  readonly headers: readonly string[]
}
type Flaky = Upstream & { readonly seen: Seen[]; fails: number }

/** Fails so many times, then echoes. `how` makes a failure. */
async function flaky(
  fails: number,
  how = (_req: IncomingMessage, res: ServerResponse) => void res.writeHead(503).end('busy'),
): Promise<Flaky> {
  const seen: Seen[] = []
  const upstream = await startUpstream((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const attempt = req.headers['x-retry-attempt'] as string | undefined
      seen.push({ attempt, body: Buffer.concat(chunks).toString(), headers: req.rawHeaders })
      if (flakyUpstream.fails-- > 0) how(req, res)
      else res.end('done')
    })
  })
  const flakyUpstream = Object.assign(upstream, { seen, fails })
  return flakyUpstream
}

const file = (host: string, retry: string, more = '', policies = '{}') => `
binds: [{port: 8080, listeners: [{routes: [{
  backends: [{host: '${host}', policies: ${policies}}], policies: {retry: ${retry}${more}}}]}]}]`
const ask = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init)
  return `${response.status} ${await response.text()}`
}

describe('a call is retried', () => {
  test('for the listed codes, and each retry is counted for the backend', async () => {
    await using upstream = await flaky(2)
    await using gateway = await startGateway(file(upstream.host, '{attempts: 2, codes: [503]}'))
    expect(await ask(gateway.url(8080))).toBe('200 done')
    expect(upstream.seen.map(s => s.attempt)).toEqual([undefined, '1', '2'])
  })

  test('up to the configured attempts, then the last response is returned', async () => {
    await using upstream = await flaky(9)
    await using gateway = await startGateway(file(upstream.host, '{attempts: 2, codes: [503]}'))
    expect(await ask(gateway.url(8080))).toBe('503 busy')
    expect(upstream.seen).toHaveLength(3)
  })

  test('but not for other codes', async () => {
    await using upstream = await flaky(1)
    await using gateway = await startGateway(file(upstream.host, '{attempts: 2, codes: [502]}'))
    expect(await ask(gateway.url(8080))).toBe('503 busy')
    expect(upstream.seen).toHaveLength(1)
  })

  test('when a condition matches the response, whatever its status', async () => {
    await using upstream = await flaky(1, (_req, res) => void res.writeHead(200, { 'x-again': 'yes' }).end('later'))
    await using gateway = await startGateway(file(upstream.host, `{condition: 'response.headers["x-again"] == "yes"'}`))
    expect(await ask(gateway.url(8080))).toBe('200 done')
  })

  test.each([
    [`request.method == "GET"`, 'GET', 2],
    [`request.method == "GET"`, 'POST', 1],
    [`request.headers["x-none"] == "a"`, 'GET', 1],
  ])('only if the precondition holds: %s for %s', async (precondition, method, calls) => {
    await using upstream = await flaky(1)
    await using gateway = await startGateway(file(upstream.host, `{codes: [503], precondition: '${precondition}'}`))
    await ask(gateway.url(8080), { method })
    expect(upstream.seen).toHaveLength(calls)
  })

  test('when the connection breaks before a response', async () => {
    await using upstream = await flaky(1, req => void req.socket.destroy())
    await using gateway = await startGateway(file(upstream.host, '{attempts: 1}'))
    expect(await ask(gateway.url(8080), { method: 'POST', body: 'x' })).toBe('200 done')
  })

  test('when it times out, with a fresh timeout per attempt', async () => {
    await using upstream = await flaky(1, () => {})
    const clock = new ManualClock()
    const timeout = ', timeout: {backendRequestTimeout: 5s}'
    await using gateway = await startGateway(file(upstream.host, '{attempts: 1}', timeout), { clock })
    const answer = ask(gateway.url(8080))
    await expect.poll(() => upstream.seen.length).toBe(1)
    clock.advance(5000)
    expect(await answer).toBe('200 done')
  })

  test('only within the request timeout', async () => {
    await using upstream = await flaky(99, () => {})
    const clock = new ManualClock()
    const timeout = ', timeout: {backendRequestTimeout: 30s, requestTimeout: 100s}'
    await using gateway = await startGateway(file(upstream.host, '{attempts: 50}', timeout), { clock })
    const answer = ask(gateway.url(8080))
    for (let call = 1; call <= 4; call++) {
      await expect.poll(() => upstream.seen.length).toBe(call)
      clock.advance(30_000)
    }
    expect(await answer).toBe('504 request timeout')
    expect(upstream.seen).toHaveLength(4)
  })

  test('after the backoff', async () => {
    await using upstream = await flaky(1)
    const clock = new ManualClock()
    await using gateway = await startGateway(file(upstream.host, '{codes: [503], backoff: 5s}'), { clock })
    const answer = ask(gateway.url(8080))
    while (!clock.armed.includes(5000)) await new Promise(setImmediate)
    clock.advance(4999)
    await new Promise(setImmediate)
    expect(upstream.seen).toHaveLength(1)
    clock.advance(1)
    expect(await answer).toBe('200 done')
  })
})

describe('a retried request', () => {
  test('includes its body up to 64 KiB', async () => {
    await using upstream = await flaky(1)
    await using gateway = await startGateway(file(upstream.host, '{codes: [503]}'))
    const body = 'x'.repeat(64 * 1024)
    expect(await ask(gateway.url(8080), { method: 'POST', body })).toBe('200 done')
    expect(upstream.seen.map(s => s.body === body)).toEqual([true, true])
  })

  test('with a larger body is sent once, complete', async () => {
    await using upstream = await flaky(1)
    await using gateway = await startGateway(file(upstream.host, '{codes: [503]}'))
    const body = 'x'.repeat(64 * 1024 + 1)
    expect(await ask(gateway.url(8080), { method: 'POST', body })).toBe('503 busy')
    expect(upstream.seen.map(s => s.body.length)).toEqual([body.length])
  })

  test('with a streamed body is sent once, complete', async () => {
    await using upstream = await flaky(1)
    await using gateway = await startGateway(file(upstream.host, '{codes: [503]}'))
    const body = new ReadableStream({
      start(controller) {
        for (const part of ['one ', 'two ', 'three']) controller.enqueue(new TextEncoder().encode(part))
        controller.close()
      },
    })
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit
    expect(await ask(gateway.url(8080), init)).toBe('200 done')
    expect(upstream.seen.map(s => s.body)).toEqual(['one two three', 'one two three'])
  })

  test('runs the backend’s policies each time, starting from the same request', async () => {
    await using upstream = await flaky(1)
    const policies = `{requestHeaderModifier: {add: {x-added: 'a'}}}`
    await using gateway = await startGateway(file(upstream.host, '{codes: [503]}', '', policies))
    await ask(gateway.url(8080))
    for (const { headers } of upstream.seen) expect(headers.filter(h => h === 'x-added')).toHaveLength(1)
  })
})

test('a client disconnect during the backoff cancels the retry', async () => {
  await using upstream = await flaky(1)
  const clock = new ManualClock()
  await using gateway = await startGateway(file(upstream.host, '{codes: [503], backoff: 5s}'), { clock })
  const leaving = new AbortController()
  const answer = fetch(gateway.url(8080), { signal: leaving.signal }).catch(() => 'left')
  while (!clock.armed.includes(5000)) await new Promise(setImmediate)
  leaving.abort()
  expect(await answer).toBe('left')
  while (gateway.logged.length === 0) await new Promise(setImmediate)
  clock.advance(5000)
  await new Promise(setImmediate)
  expect(upstream.seen).toHaveLength(1)
})
