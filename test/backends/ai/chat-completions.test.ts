import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { aiBackend } from '../../../src/backends/ai/index.ts'
import {
  ANSWER,
  completionEvents,
  type OpenAiServer,
  sendJson,
  startOpenAiServer,
  USAGE,
} from '../../helpers/openai-server.ts'
import { decoded, type Gateway, serve, testContext, testRuntime } from './gateway.ts'

async function gatewayTo(
  upstream: OpenAiServer,
  more: object = {},
  provider: object = { openAI: {} },
): Promise<Gateway> {
  const runtime = testRuntime()
  const spec = decoded(aiBackend.schema, { provider, hostOverride: `127.0.0.1:${upstream.port}`, ...more })
  return serve(aiBackend.compile(spec, testContext(runtime)), runtime)
}

function client(gateway: Gateway): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'sk-client', maxRetries: 0 })
}

const HELLO = [{ role: 'user' as const, content: 'Hello' }]

describe('the unmodified OpenAI SDK', () => {
  test('gets a completion, and its usage is recorded', async () => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayTo(upstream)
    const over = gateway.next()
    const reply = await client(gateway).chat.completions.create({ model: 'gpt-4o', messages: HELLO })
    expect(reply.choices[0]?.message.content).toBe(ANSWER.join(''))
    expect(reply.usage).toEqual(USAGE)
    expect((await over).llm).toEqual({
      provider: 'openai',
      streaming: false,
      requestModel: 'gpt-4o',
      responseModel: 'gpt-4o-2026-01-01',
      inputTokens: 11,
      outputTokens: 5,
      totalTokens: 16,
      cachedInputTokens: 4,
      reasoningTokens: 2,
      timeToFirstToken: expect.any(Number),
    })
    expect(upstream.seen[0]?.headers.authorization).toBe('Bearer sk-client')
    expect(upstream.seen[0]?.path).toBe('/v1/chat/completions')
  })

  test('gets a stream, and its usage is requested and recorded', async () => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayTo(upstream)
    const over = gateway.next()
    const stream = await client(gateway).chat.completions.create({ model: 'gpt-4o', messages: HELLO, stream: true })
    let text = ''
    for await (const chunk of stream) {
      expect(chunk.choices).toHaveLength(1)
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe(ANSWER.join(''))
    expect(JSON.parse(upstream.seen[0]?.body ?? '')).toMatchObject({ stream_options: { include_usage: true } })
    expect((await over).llm).toMatchObject({
      streaming: true,
      responseModel: 'gpt-4o',
      inputTokens: 11,
      outputTokens: 5,
      totalTokens: 16,
    })
  })

  test('gets a stream of known length without the usage event it did not request', async () => {
    await using upstream = await startOpenAiServer()
    const text = completionEvents('m', true).join('')
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': Buffer.byteLength(text) }).end(text)
    })
    await using gateway = await gatewayTo(upstream)
    const events = []
    for await (const event of await client(gateway).chat.completions.create({
      model: 'm',
      messages: [],
      stream: true,
    })) {
      events.push(event)
    }
    expect(events).toHaveLength(ANSWER.length + 2)
  })

  test('gets each chunk as soon as the model sends it', async () => {
    await using upstream = await startOpenAiServer()
    const [first, ...rest] = completionEvents('gpt-4o', false)
    let goOn: () => void = () => {}
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(first)
      goOn = () => res.end(rest.join(''))
    })
    await using gateway = await gatewayTo(upstream)
    const stream = await client(gateway).chat.completions.create({ model: 'gpt-4o', messages: HELLO, stream: true })
    const chunks = stream[Symbol.asyncIterator]()
    expect((await chunks.next()).value?.choices[0]?.delta.role).toBe('assistant')
    goOn()
    expect((await chunks.next()).value?.choices[0]?.delta.content).toBe(ANSWER[0])
  })

  test('cancels the upstream call when it disconnects mid-stream', async () => {
    await using upstream = await startOpenAiServer()
    const [first] = completionEvents('gpt-4o', false)
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(first)
    })
    await using gateway = await gatewayTo(upstream)
    const stream = await client(gateway).chat.completions.create({ model: 'gpt-4o', messages: HELLO, stream: true })
    await stream[Symbol.asyncIterator]().next()
    stream.controller.abort()
    await upstream.seen[0]?.cutOff
  })

  test('gets provider errors as if it had called the provider directly', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.setHeader('retry-after', '7')
      sendJson(res, 429, {
        error: { message: 'slow down', type: 'requests', param: null, code: 'rate_limit_exceeded' },
      })
    })
    await using gateway = await gatewayTo(upstream)
    const failure = await client(gateway)
      .chat.completions.create({ model: 'gpt-4o', messages: HELLO })
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(OpenAI.RateLimitError)
    expect(failure).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'requests' })
    expect((failure as InstanceType<typeof OpenAI.RateLimitError>).headers?.get('retry-after')).toBe('7')
  })

  test('gets an API error in place of a proxy’s HTML error page', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>')
    })
    await using gateway = await gatewayTo(upstream)
    const failure = await client(gateway)
      .chat.completions.create({ model: 'gpt-4o', messages: HELLO, stream: true })
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ status: 502, type: 'server_error', error: { message: '<h1>Bad gateway</h1>' } })
  })

  test('gets an API error for an unreachable provider', async () => {
    let port: number
    {
      await using gone = await startOpenAiServer()
      port = gone.port
    }
    const runtime = testRuntime()
    const spec = decoded(aiBackend.schema, { provider: { openAI: {} }, hostOverride: `127.0.0.1:${port}` })
    await using gateway = await serve(aiBackend.compile(spec, testContext(runtime)), runtime)
    const failure = await client(gateway)
      .chat.completions.create({ model: 'gpt-4o', messages: HELLO })
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ status: 503, type: 'server_error' })
  })
})

describe('the request', () => {
  async function sent(body: string, more: object = {}, provider?: object): Promise<string> {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayTo(upstream, more, provider)
    await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body })
    return upstream.seen[0]?.body ?? ''
  }

  test('reaches the provider byte for byte when nothing needs to change', async () => {
    const body =
      '{ "model":"m", "seed": 12345678901234567890, "temperature":1.0, "vendor":{"x":[1,2,{}]}, "__proto__":{"a":1}, "messages":[] }'
    expect(await sent(body)).toBe(body)
  })

  test('keeps unknown fields and number formatting when something changes', async () => {
    const body = '{"model":"m","seed":12345678901234567890,"temperature":1.0,"__proto__":{"a":1},"messages":[]}'
    expect(await sent(body, {}, { openAI: { model: 'gpt-4o' } })).toBe(
      '{"model":"gpt-4o","seed":12345678901234567890,"temperature":1.0,"__proto__":{"a":1},"messages":[]}',
    )
  })

  test('carries the model only once, so the provider reads the one that was checked', async () => {
    const body = '{"model":"cheap","messages":[],"mod\\u0065l":"expensive"}'
    expect(JSON.parse(await sent(body))).toEqual({ model: 'expensive', messages: [] })
    expect(await sent(body)).not.toContain('cheap')
  })

  test('uses max_completion_tokens for gpt models only', async () => {
    expect(await sent('{"model":"gpt-5","max_tokens":9,"messages":[]}')).toBe(
      '{"model":"gpt-5","messages":[],"max_completion_tokens":9}',
    )
    expect(await sent('{"model":"gpt-5","max_tokens":9,"max_completion_tokens":3}')).toBe(
      '{"model":"gpt-5","max_completion_tokens":3}',
    )
    expect(await sent('{"model":"llama","max_tokens":9}')).toBe('{"model":"llama","max_tokens":9}')
  })

  test("leaves the client's own stream options alone", async () => {
    const body = '{"model":"m","stream":true,"stream_options":{"include_usage":false},"messages":[]}'
    expect(await sent(body)).toBe(body)
  })

  test.each([
    ['pathOverride', { pathOverride: '/deep/chat?v=2' }, '/deep/chat?v=2'],
    ['pathPrefix', { pathPrefix: '/compat/' }, '/compat/chat/completions?a=b'],
    ['hostOverride alone', {}, '/v1/chat/completions?a=b'],
  ])('uses the path from %s', async (_name, more, path) => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayTo(upstream, more)
    await fetch(`${gateway.url}/v1/chat/completions?a=b`, { method: 'POST', body: '{"model":"m"}' })
    expect(upstream.seen[0]?.path).toBe(path)
  })

  test('goes to the path of its format on a custom server', async () => {
    await using upstream = await startOpenAiServer()
    const formats = [{ type: 'completions', path: '/api/chat' }]
    await using gateway = await gatewayTo(upstream, {}, { custom: { formats } })
    await fetch(`${gateway.url}/anything`, { method: 'POST', body: '{"model":"m"}' })
    expect(upstream.seen[0]?.path).toBe('/api/chat')
  })

  test.each([
    ['a non-JSON body', 'hello', 400],
    ['a list', '[]', 400],
    ['no model', '{"messages":[]}', 400],
    ['a model that is not a string', '{"model":7}', 400],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400],
    ['excessive nesting', `{"model":"m","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400],
    ['more than 2 MiB', JSON.stringify({ model: 'm', x: 'y'.repeat(2 * 1024 * 1024) }), 413],
  ])('with %s is refused with an API error', async (_name, body, status) => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayTo(upstream)
    const reply = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body })
    expect(reply.status).toBe(status)
    expect(await reply.json()).toMatchObject({ error: { type: 'invalid_request_error', message: expect.any(String) } })
    expect(upstream.seen).toHaveLength(0)
  })
})
