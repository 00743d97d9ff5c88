import type { ServerResponse } from 'node:http'
import { request } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { aiBackend } from '../../../src/backends/ai/index.ts'
import { decodeInto } from '../../../src/calls/content-coding.ts'
import {
  ANSWER,
  completionEvents,
  type OpenAiServer,
  sendJson,
  startOpenAiServer,
  USAGE,
} from '../../helpers/openai-server.ts'
import { ENDLESS } from '../../helpers/own-sockets.ts'
import { decoded, type Gateway, serve, testContext, testRuntime } from './gateway.ts'

async function gatewayTo(upstream: OpenAiServer, provider: object = { openAI: {} }): Promise<Gateway> {
  const runtime = testRuntime()
  const spec = decoded(aiBackend.schema, { provider, hostOverride: `127.0.0.1:${upstream.port}` })
  return serve(aiBackend.compile(spec, testContext(runtime)), runtime)
}

function post(gateway: Gateway, stream = false, user = 'test'): Promise<Response> {
  const body = JSON.stringify({ model: 'gpt-4o', messages: [], stream, user })
  return fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body })
}

function postFor(gateway: Gateway, stream_options: object): Promise<Response> {
  const body = JSON.stringify({ model: 'gpt-4o', stream: true, stream_options })
  return fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body })
}

/** Writes pieces one by one, each in its own packet. */
async function dribble(res: ServerResponse, pieces: Iterable<Uint8Array>): Promise<void> {
  for (const piece of pieces) {
    res.write(piece)
    await new Promise(resolve => setImmediate(resolve))
  }
  res.end()
}

describe('a stream', () => {
  test.each([
    ['single bytes', '\n', 1],
    ['pieces that split characters and lines', '\n', 7],
    ['pieces with CRLF', '\r\n', 5],
  ])('in %s reaches the client unchanged, and its usage is counted', async (_name, newline, size) => {
    const text = completionEvents('gpt-4o', true).join('').replaceAll('\n', newline)
    const bytes = Buffer.from(text)
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      void dribble(
        res,
        Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size)),
      )
    })
    await using gateway = await gatewayTo(upstream)
    const over = gateway.next()
    expect(await (await postFor(gateway, { include_usage: true })).text()).toBe(text)
    expect((await over).llm).toMatchObject({ inputTokens: USAGE.prompt_tokens, outputTokens: USAGE.completion_tokens })
  })

  test('that breaks off ends with an error visible to SDKs, and partial usage is counted', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: {"model":"m","usage":{"prompt_tokens":5}}\n\n')
      setImmediate(() => res.destroy())
    })
    await using gateway = await gatewayTo(upstream)
    const over = gateway.next()
    const text = await (await post(gateway, true)).text()
    expect(text).toContain('data: {"error":{"message":"the reply of the provider broke off"')
    expect(text).not.toContain('[DONE]')
    expect((await over).llm).toMatchObject({ inputTokens: 5, responseModel: 'm' })
  })

  test('with a wrong content type is still a stream to the SDK', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/plain' }).end(completionEvents('m', false).join(''))
    })
    await using gateway = await gatewayTo(upstream)
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'x', maxRetries: 0 })
    let text = ''
    for await (const chunk of await client.chat.completions.create({ model: 'm', messages: [], stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe(ANSWER.join(''))
  })
})

describe('a reply the client does not read', () => {
  test.each(['text/event-stream', 'application/json'])(
    'of type %s applies backpressure to the provider instead of filling memory',
    async type => {
      await using upstream = await startOpenAiServer()
      const event = Buffer.from(`data: {"choices":[{"delta":{"content":"${'x'.repeat(64 * 1024)}"}}]}\n\n`)
      let written = 0
      upstream.answer((_req, res, body) => {
        if (body.includes('ping')) {
          sendJson(res, 200, {})
          return
        }
        res.writeHead(200, { 'content-type': type })
        const more = (): void => {
          do written += event.length
          while (res.write(event) && written < ENDLESS)
          res.once('drain', more)
        }
        more()
      })
      await using gateway = await gatewayTo(upstream)
      const call = request(`${gateway.url}/v1/chat/completions`, { method: 'POST' })
      call.on('error', () => {})
      const begun = new Promise<void>(resolve =>
        call.on('response', reply => {
          reply.pause()
          resolve()
        }),
      )
      call.end(JSON.stringify({ model: 'm', stream: true }))
      await begun
      for (let seen = -1; seen !== written; ) {
        seen = written
        for (let i = 0; i < 20; i++) await post(gateway, false, 'ping')
      }
      expect(written).toBeLessThan(ENDLESS)
      call.destroy()
      await upstream.seen[0]?.cutOff
    },
  )

  test('is decompressed only as fast as it can be written', async () => {
    const bomb = gzipSync(Buffer.alloc(4 * 1024 * 1024))
    let total = 0
    let sinceRoom = 0
    let most = 0
    await new Promise<void>((resolve, reject) => {
      let room: () => void = () => {}
      const sink = decodeInto(
        {
          write(chunk) {
            total += chunk.length
            sinceRoom += chunk.length
            most = Math.max(most, sinceRoom)
            setImmediate(() => {
              sinceRoom = 0
              room()
            })
            return false
          },
          end: () => resolve(),
          fail: reject,
          onDrain(then) {
            room = then
          },
        },
        'gzip',
        'llmResponse',
      )
      sink.write(bomb)
      sink.end()
    })
    expect(total).toBe(4 * 1024 * 1024)
    expect(most).toBeLessThan(128 * 1024)
  })
})

describe('a reply', () => {
  test.each([
    ['not JSON', 'It works!', {}],
    ['truncated', '{"model":"m","choices":[', {}],
    ['empty', '', {}],
    ['in an unknown content encoding', '{}', { 'content-encoding': 'rot13' }],
    ['damaged gzip', 'not gzip at all', { 'content-encoding': 'gzip' }],
  ])('that is %s yields a 502 API error', async (_name, body, headers) => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body)
    })
    await using gateway = await gatewayTo(upstream)
    const reply = await post(gateway)
    expect(reply.status).toBe(502)
    expect(await reply.json()).toMatchObject({ error: { type: 'server_error', message: expect.any(String) } })
  })

  test('that breaks off yields an error instead of a partial reply', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      res.write('{"model":')
      setImmediate(() => res.destroy())
    })
    await using gateway = await gatewayTo(upstream)
    const reply = await post(gateway)
    expect(reply.status).toBe(503)
    expect(await reply.json()).toMatchObject({ error: { type: 'server_error' } })
  })

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const)('in unrequested %s is decompressed and counted', async (coding, compress) => {
    await using upstream = await startOpenAiServer()
    const json = JSON.stringify({ model: 'm', choices: [], usage: USAGE })
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding }).end(compress(json))
    })
    await using gateway = await gatewayTo(upstream)
    const over = gateway.next()
    const reply = await post(gateway)
    expect(reply.headers.get('content-encoding')).toBeNull()
    expect(await reply.text()).toBe(json)
    expect((await over).llm).toMatchObject({ inputTokens: 11, responseModel: 'm' })
    expect(upstream.seen[0]?.headers['accept-encoding']).toBe('identity')
  })

  test('streamed in gzip is decompressed event by event', async () => {
    await using upstream = await startOpenAiServer()
    const text = completionEvents('m', true).join('')
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
      const packed = gzipSync(text)
      void dribble(res, [packed.subarray(0, 20), packed.subarray(20, 90), packed.subarray(90)])
    })
    await using gateway = await gatewayTo(upstream)
    const over = gateway.next()
    expect(await (await postFor(gateway, { include_usage: true })).text()).toBe(text)
    expect((await over).llm).toMatchObject({ inputTokens: 11 })
  })

  test('of many megabytes is streamed through and counted', async () => {
    await using upstream = await startOpenAiServer()
    const part = Buffer.from(`${Array.from({ length: 8000 }, (_, i) => i / 8000).join(',')},`)
    const parts = Math.ceil((30 * 1024 * 1024) / part.length)
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.write('{"object":"list","model":"embed-3","data":[{"embedding":[')
      const more = (left: number): void => {
        if (left === 0) res.end('0]}],"usage":{"prompt_tokens":8,"total_tokens":8}}')
        else if (res.write(part)) setImmediate(more, left - 1)
        else res.once('drain', () => more(left - 1))
      }
      more(parts)
    })
    await using gateway = await gatewayTo(upstream)
    const over = gateway.next()
    let size = 0
    const reply = await post(gateway)
    for await (const chunk of reply.body as unknown as AsyncIterable<Uint8Array>) size += chunk.length
    expect(size).toBeGreaterThan(30 * 1024 * 1024)
    expect((await over).llm).toMatchObject({ responseModel: 'embed-3', inputTokens: 8, totalTokens: 8 })
  })

  test('with hostile JSON passes through', async () => {
    await using upstream = await startOpenAiServer()
    const json = `{"__proto__":{"usage":{"prompt_tokens":1}},"model":"m","x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(json)
    })
    await using gateway = await gatewayTo(upstream)
    const over = gateway.next()
    expect(await (await post(gateway)).text()).toBe(json)
    const facts = (await over).llm
    expect([facts?.responseModel, facts?.inputTokens]).toEqual(['m', undefined])
  })
})
