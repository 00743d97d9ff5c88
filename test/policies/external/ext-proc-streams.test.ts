import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { Plain, ProcessCall } from '../../helpers/envoy-services.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { echo, startUpstream } from '../../helpers/upstream.ts'
import { echoed, NONE, pass, post, set, start, streamed } from './ext-proc-fixture.ts'

const MEBIBYTE = 1024 * 1024
/** Far more than sockets and windows take in, and far less than all. */
const ALL = 32 * MEBIBYTE
const MOST_AHEAD = 28 * MEBIBYTE
const REFUSAL = { immediateResponse: { status: { code: 418 }, body: Buffer.from('no') } }

describe('a body streamed through the service', () => {
  test('is sent only as fast as the service reads', async () => {
    let sent = 0
    let seen = 0
    let farthest = 0
    const slow = (request: Plain, call: ProcessCall & { pause(): void; resume(): void }) => {
      if (!request.requestBody) return pass(request, call)
      seen += request.requestBody.body?.length ?? 0
      farthest = Math.max(farthest, sent - seen)
      call.pause()
      setImmediate(() => {
        pass(request, call)
        call.resume()
      })
    }
    await using at = await start(slow as typeof pass, 'responseBodyMode: none', '', '', (req, res) => {
      let got = 0
      req.on('data', (chunk: Buffer) => {
        got += chunk.length
      })
      req.on('end', () => res.end(String(got)))
    })
    const chunk = new Uint8Array(MEBIBYTE)
    const body = new ReadableStream({
      pull(controller) {
        if (sent >= ALL) return controller.close()
        sent += chunk.length
        controller.enqueue(chunk.slice())
      },
    })
    const response = await at.fetch('/', { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect(await response.text()).toBe(String(ALL))
    expect(farthest).toBeLessThan(MOST_AHEAD)
  }, 60_000)

  test('is sent only as fast as the client reads', async () => {
    let made = 0
    const produce = (_req: unknown, res: ServerResponse) => {
      const chunk = Buffer.alloc(256 * 1024)
      const more = () => {
        while (made < ALL) {
          made += chunk.length
          if (!res.write(chunk)) return res.once('drain', more)
        }
        return res.end()
      }
      more()
    }
    await using at = await start(pass, 'requestBodyMode: none', '', '', produce)
    const response = await at.fetch()
    let read = 0
    let farthest = 0
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      read += chunk.length
      farthest = Math.max(farthest, made - read)
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(read).toBe(ALL)
    expect(farthest).toBeLessThan(MOST_AHEAD)
  }, 60_000)

  test.each(['requestBody', 'responseBody'] as const)(
    'as %s can be held back by the service and returned at once',
    async kind => {
      const kept: Buffer[] = []
      await using at = await start(
        (request, call) => {
          const part = request[kind]
          if (!part) return pass(request, call)
          if (part.body) kept.push(part.body)
          if (!part.endOfStream) return
          for (const body of kept) call.write({ [kind]: streamed({ body, endOfStream: false }, text => text) })
          call.write({ [kind]: streamed({ endOfStream: true }) })
        },
        kind === 'requestBody' ? 'responseBodyMode: none' : 'requestBodyMode: none',
        '',
        '',
        (req, res) => {
          if (kind === 'responseBody') {
            res.end(Buffer.alloc(16 * MEBIBYTE, 'a'))
            return
          }
          let got = 0
          req.on('data', (chunk: Buffer) => {
            got += chunk.length
            req.pause()
            setImmediate(() => req.resume())
          })
          req.on('end', () => res.end(String(got)))
        },
      )
      if (kind === 'requestBody') {
        const response = await at.fetch('/', post('a'.repeat(16 * MEBIBYTE)))
        expect(await response.text()).toBe(String(16 * MEBIBYTE))
        return
      }
      let read = 0
      for await (const chunk of (await at.fetch()).body as unknown as AsyncIterable<Uint8Array>) {
        read += chunk.length
        await new Promise(resolve => setImmediate(resolve))
      }
      expect(read).toBe(16 * MEBIBYTE)
    },
    60_000,
  )

  test('as a response does not block the request still being sent', async () => {
    const size = 3 * MEBIBYTE
    // Answers at once and reads on; the client reads nothing before it has sent everything.
    await using at = await start(pass, '', '', '', (req, res) => {
      res.write(Buffer.alloc(size, 'b'))
      let got = 0
      req.on('data', (chunk: Buffer) => {
        got += chunk.length
      })
      req.on('end', () => res.end(String(got)))
    })
    const response = await at.fetch('/', post('a'.repeat(8 * MEBIBYTE)))
    expect((await response.text()).slice(size)).toBe(String(8 * MEBIBYTE))
  })
})

describe('an immediate response', () => {
  test('to a streamed request body reaches the client although the backend call has started', async () => {
    await using at = await start(
      (request, call) => (request.requestBody?.endOfStream ? call.write(REFUSAL) : pass(request, call)),
      'responseBodyMode: none',
      'failureMode: failOpen',
    )
    const response = await at.fetch('/', post('a'.repeat(MEBIBYTE)))
    expect([response.status, await response.text()]).toEqual([418, 'no'])
  })

  test('during a streamed response body aborts it, as its headers are already sent', async () => {
    await using at = await start(
      (request, call) => (request.responseBody ? call.write(REFUSAL) : pass(request, call)),
      'requestBodyMode: none',
      'failureMode: failOpen',
    )
    const body = at.fetch('/').then(response => response.text())
    await expect(body).rejects.toThrow()
  })
})

describe('response trailers', () => {
  const withTrailers = (_req: unknown, res: ServerResponse) => {
    res.writeHead(200, { trailer: 'x-sum, x-secret' })
    res.write('body')
    res.addTrailers({ 'x-sum': '1', 'x-secret': 's' })
    res.end()
  }
  const change = (request: Plain, call: ProcessCall) => {
    if (!request.responseTrailers) return pass(request, call)
    const headerMutation = { setHeaders: [set('x-sum', '2'), set('x-more', '3')], removeHeaders: ['x-secret'] }
    call.write({ responseTrailers: { headerMutation } })
  }

  test.each([
    ['send', { 'x-sum': '2', 'x-more': '3' }],
    ['skip', { 'x-sum': '1', 'x-secret': 's' }],
  ])('with %s', async (mode, expected) => {
    await using at = await start(change, `requestBodyMode: none, responseTrailerMode: ${mode}`, '', '', withTrailers)
    const { body, trailers } = await at.raw()
    expect([body, trailers]).toEqual(['body', expected])
    expect(at.kinds().includes('responseTrailers')).toBe(mode === 'send')
  })
})

describe('mode overrides sent with the response headers', () => {
  const override = (mode: object) => (request: Plain, call: ProcessCall) => {
    if (request.responseHeaders) call.write({ responseHeaders: {}, modeOverride: mode })
    else if (request.responseBody)
      call.write({ responseBody: { response: { bodyMutation: { body: Buffer.from('changed') } } } })
    else pass(request, call)
  }

  test.each([
    ['none to buffered', NONE, { responseBodyMode: 2 }, 'changed'],
    ['none to bufferedPartial', NONE, { responseBodyMode: 3 }, 'changed'],
    ['buffered to none', 'requestBodyMode: none, responseBodyMode: buffered', { responseBodyMode: 0 }, 'as it was'],
    ['none to streamed is ignored', NONE, { responseBodyMode: 4 }, 'as it was'],
  ])('%s', async (_, modes, mode, expected) => {
    await using at = await start(override(mode), `${modes}, allowModeOverride: true`, '', '', (_req, res) =>
      res.end('as it was'),
    )
    expect(await (await at.fetch()).text()).toBe(expected)
  })

  test('a body switched to buffered that is too long is aborted, not passed through', async () => {
    await using at = await start(
      override({ responseBodyMode: 2 }),
      `${NONE}, allowModeOverride: true`,
      '',
      '',
      (_req, res) => res.end('a'.repeat(9000)),
    )
    await expect(at.fetch().then(response => response.text())).rejects.toThrow()
  })
})

describe('failOpen', () => {
  test.each(['', 'requestHeaderMode: skip'])('passes a body when the service is unreachable: %s', async modes => {
    const backend = await startUpstream(echo)
    await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {
  extProc: {host: '127.0.0.1:1', failureMode: failOpen, processingOptions: {${modes}}}}}]}]}]`)
    const response = await fetch(gateway.url(8080), post('hello'))
    const got = await echoed(response)
    expect([response.status, got.body, got.of('content-length')]).toEqual([200, 'hello', ['5']])
    await backend[Symbol.asyncDispose]()
  })

  test('does not apply once the service has seen part of a body', async () => {
    await using at = await start(
      (request, call) => (request.requestBody ? call.emit('error', { code: 14, details: 'gone' }) : undefined),
      'responseBodyMode: none',
      'failureMode: failOpen',
    )
    expect((await at.fetch('/', post('hello'))).status).toBe(500)
  })

  test('passes a response when the service fails on its headers', async () => {
    await using at = await start(
      (request, call) =>
        request.responseHeaders ? call.emit('error', { code: 14, details: 'gone' }) : pass(request, call),
      NONE,
      'failureMode: failOpen',
    )
    expect((await at.fetch()).status).toBe(200)
  })
})
