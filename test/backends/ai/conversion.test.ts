import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { writeFrame } from '../../../src/llm/framing/event-stream-frames.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { type OpenAiServer, sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

const AWS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' }

async function gatewayTo(provider: string, upstream: OpenAiServer, more = '') {
  return startGateway(
    `llm:
  port: 4000
  models:
  - {name: "*", provider: ${provider}, params: {baseUrl: "${upstream.url}"}}
${more}`,
    { env: AWS },
  )
}

const client = (url: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 })
const messages = [{ role: 'user' as const, content: 'Hi' }]
const tools = [{ type: 'function' as const, function: { name: 'now', parameters: { type: 'object', properties: {} } } }]

function sse(...events: readonly { readonly type?: string }[]): string {
  return events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

const CLAUDE_STREAM = [
  { type: 'message_start', message: { id: 'msg_1', model: 'claude-x', usage: { input_tokens: 11, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't1', name: 'now', input: {} } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]

describe('the unmodified OpenAI SDK with an Anthropic provider', () => {
  test('gets a complete reply', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) =>
      sendJson(res, 200, {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-x',
        content: [{ type: 'text', text: 'Hello' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 3, output_tokens: 2 },
      }),
    )
    await using gateway = await gatewayTo('anthropic', upstream)
    const reply = await client(gateway.url(4000)).chat.completions.create({
      model: 'claude-x',
      messages,
      max_tokens: 9,
    })
    expect(reply.choices[0]).toMatchObject({ message: { content: 'Hello' }, finish_reason: 'stop' })
    expect(reply.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 })
    const [seen] = upstream.seen
    expect(seen).toMatchObject({
      path: '/v1/messages',
      headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
    })
    expect(JSON.parse(seen?.body ?? '')).toEqual({
      model: 'claude-x',
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    })
  })

  test.each([1, 7, 100_000])('gets a stream sent in chunks of %d bytes', async size => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      const bytes = Buffer.from(sse(...CLAUDE_STREAM))
      for (let at = 0; at < bytes.length; at += size) res.write(bytes.subarray(at, at + size))
      res.end()
    })
    await using gateway = await gatewayTo('anthropic', upstream)
    const stream = client(gateway.url(4000)).chat.completions.stream({
      model: 'claude-x',
      messages,
      tools,
      stream_options: { include_usage: true },
    })
    const reply = await stream.finalChatCompletion()
    expect(reply.choices[0]).toMatchObject({
      message: { content: 'Hello', tool_calls: [{ id: 't1', function: { name: 'now', arguments: '{}' } }] },
      finish_reason: 'tool_calls',
    })
    expect(reply.usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 5 })
  })

  test('gets an error, never a clean end, when the stream breaks off', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.end(sse(...CLAUDE_STREAM.slice(0, 3)))
    })
    await using gateway = await gatewayTo('anthropic', upstream)
    const stream = await client(gateway.url(4000)).chat.completions.create({ model: 'x', messages, stream: true })
    const texts: string[] = []
    await expect(
      (async () => {
        for await (const chunk of stream) texts.push(chunk.choices[0]?.delta.content ?? '')
      })(),
    ).rejects.toThrow(/before the reply was complete/)
    expect(texts.join('')).toBe('Hel')
  })

  test("gets the provider's errors as OpenAI errors", async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) =>
      sendJson(res, 429, { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } }),
    )
    await using gateway = await gatewayTo('anthropic', upstream)
    const asked = client(gateway.url(4000)).chat.completions.create({ model: 'x', messages })
    await expect(asked).rejects.toMatchObject({
      status: 429,
      type: 'rate_limit_error',
      error: { message: 'slow down' },
    })
  })
})

describe('Bedrock', () => {
  const frames = [
    writeFrame('messageStart', '{"role":"assistant"}'),
    writeFrame('contentBlockDelta', '{"contentBlockIndex":0,"delta":{"text":"Hello"}}'),
    writeFrame('contentBlockStop', '{"contentBlockIndex":0}'),
    writeFrame('messageStop', '{"stopReason":"end_turn"}'),
    writeFrame('metadata', '{"usage":{"inputTokens":4,"outputTokens":2,"totalTokens":6}}'),
  ]

  test('answers a signed request with a stream of frames', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
      const bytes = Buffer.concat(frames)
      for (let at = 0; at < bytes.length; at += 5) res.write(bytes.subarray(at, at + 5))
      res.end()
    })
    await using gateway = await gatewayTo('bedrock', upstream)
    const model = 'arn:aws:bedrock:us-east-1:1:inference-profile/x'
    const stream = client(gateway.url(4000)).chat.completions.stream({ model, messages })
    expect(await stream.finalContent()).toBe('Hello')
    const [seen] = upstream.seen
    expect(seen?.path).toBe('/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx/converse-stream')
    expect(seen?.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/us-east-1\/bedrock\//)
    expect(JSON.parse(seen?.body ?? '')).toEqual({
      messages: [{ role: 'user', content: [{ text: 'Hi' }] }],
      inferenceConfig: { maxTokens: 4096 },
    })
  })

  test.each([
    ['an exception', writeFrame('throttlingException', '{"message":"slow down"}')],
    ['bytes that are not a frame', Buffer.from('nonsense, and a lot of it')],
    ['a truncated frame', writeFrame('messageStop', '{}').subarray(0, 20)],
  ])('ends the reply with an error after %s', async (_, bytes) => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
      res.end(Buffer.concat([...frames.slice(0, 2), bytes]))
    })
    await using gateway = await gatewayTo('bedrock', upstream)
    const reply = await fetch(`${gateway.url(4000)}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', max_tokens: 5, messages, stream: true }),
    })
    const text = await reply.text()
    expect(text).toContain('"type":"error"')
    expect(text).not.toContain('message_stop')
  })
})

describe('Gemini', () => {
  const answer = {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2, thoughtsTokenCount: 3, totalTokenCount: 9 },
    modelVersion: 'gemini-x',
    responseId: 'r1',
  }

  test('serves OpenAI clients through its native API', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => sendJson(res, 200, answer))
    await using gateway = await startGateway(
      `llm:
  models:
  - {name: "*", provider: gemini, params: {baseUrl: "${upstream.url}/v1beta", apiKey: AIzaKey}}`,
    )
    const reply = await client(gateway.url(4000)).chat.completions.create({ model: 'gemini-x', messages })
    expect(reply.choices[0]?.message.content).toBe('Hello')
    expect(reply.usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 5, total_tokens: 9 })
    expect(upstream.seen[0]).toMatchObject({
      path: '/v1beta/models/gemini-x:generateContent',
      headers: { 'x-goog-api-key': 'AIzaKey' },
    })
  })

  test('serves native clients, which send the model in the path', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => sendJson(res, 200, answer))
    await using gateway = await startGateway(
      `llm:
  models:
  - {name: "gemini-x", provider: gemini, params: {baseUrl: "${upstream.url}/v1beta"}}
  - {name: "claude-x", provider: openAI, params: {baseUrl: "${upstream.url}"}}`,
    )
    const ask = (model: string) =>
      fetch(`${gateway.url(4000)}/v1beta/models/${model}:generateContent?key=secret`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }),
      })
    expect(await (await ask('gemini-x')).json()).toEqual(answer)
    upstream.answer((_req, res) =>
      sendJson(res, 200, { id: 'c', model: 'gpt', choices: [{ message: { content: 'Yo' }, finish_reason: 'stop' }] }),
    )
    const converted = await ask('claude-x')
    expect(await converted.json()).toMatchObject({
      candidates: [{ content: { parts: [{ text: 'Yo' }] }, finishReason: 'STOP' }],
    })
    expect(upstream.seen[1]?.path).toBe('/v1/chat/completions')
    expect(JSON.parse(upstream.seen[1]?.body ?? '')).toMatchObject({
      model: 'claude-x',
      messages: [{ role: 'user', content: 'Hi' }],
    })
  })
})

test.each(['/v1/chat/completions', '/v1/messages?beta=true', '/v1/responses'])(
  'a streaming client gets a stream even from a provider that cannot stream: %s',
  async path => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) =>
      sendJson(res, 200, {
        output: {
          message: {
            role: 'assistant',
            content: [{ text: 'Hello' }, { toolUse: { toolUseId: 't', name: 'now', input: { a: 1 } } }],
          },
        },
        stopReason: 'tool_use',
        usage: { inputTokens: 4, outputTokens: 2, totalTokens: 6 },
      }),
    )
    await using gateway = await gatewayTo('bedrock', upstream)
    const reply = await fetch(gateway.url(4000) + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', max_tokens: 5, messages, input: 'Hi', stream: true }),
    })
    const text = await reply.text()
    expect(reply.headers.get('content-type')).toBe('text/event-stream')
    expect(text).toContain('Hello')
    expect(text).toContain('{\\"a\\":1}')
    expect(text).toMatch(/\[DONE\]|message_stop|response\.completed/)
    // What Anthropic's clients add to their path is not for others.
    expect(upstream.seen[0]?.path).toBe('/model/m/converse-stream')
  },
)

test.each([
  ['is nested too deeply and left open', '['.repeat(100_000), 'nested deeper than 256'],
  ['is nested too deeply', `{"content":${'['.repeat(300)}${']'.repeat(300)}}`, 'nested deeper than 256'],
  [
    'is cut off inside a string',
    `{"id":"msg_1","content":[{"type":"text","text":"${'x'.repeat(1000)}`,
    'did not answer with JSON',
  ],
])('a reply that %s yields an error', async (_, reply, said) => {
  await using upstream = await startOpenAiServer()
  upstream.answer((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(reply)
  })
  await using gateway = await gatewayTo('anthropic', upstream)
  const asked = client(gateway.url(4000)).chat.completions.create({ model: 'claude', messages })
  await expect(asked).rejects.toMatchObject({ status: 502, message: expect.stringContaining(said) })
})
