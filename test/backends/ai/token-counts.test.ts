import { describe, expect, test } from 'vitest'
import { startGateway } from '../../helpers/gateway.ts'
import { sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

const AWS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' }

async function count(provider: string, path: string, body: unknown, answer: object = {}) {
  await using upstream = await startOpenAiServer()
  upstream.answer((_req, res) => sendJson(res, 200, answer))
  await using gateway = await startGateway(
    `llm:
  port: 4000
  models:
  - {name: "*", provider: ${provider}, params: {baseUrl: "${upstream.url}"}}
`,
    { env: AWS },
  )
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(gateway.url(4000) + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: text,
  })
  return { status: response.status, reply: JSON.parse(await response.text()), seen: upstream.seen }
}

const COUNT = '/v1/messages/count_tokens'
const messages = [{ role: 'user', content: 'Hello, world!' }]

describe('token estimates for providers without a token count endpoint', () => {
  test.each([
    // `Hello, world!` has four tokens; four more for the message, three at the end.
    ['one message', { messages }, 11],
    ['instructions', { messages, system: 'Hello, world!' }, 19],
    ['text that looks like a control token', { messages: [{ role: 'user', content: '<|endoftext|>' }] }, 14],
    [
      'an image',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'x:' } }] }] },
      1007,
    ],
  ])('%s', async (_what, body, tokens) => {
    const { status, reply, seen } = await count('openai', COUNT, { model: 'gpt-4o', ...body })
    expect({ status, reply }).toEqual({ status: 200, reply: { input_tokens: tokens } })
    expect(seen).toEqual([])
  })

  test('include tools, their calls and results', async () => {
    const tools = [{ name: 'now', description: 'The time', input_schema: { type: 'object', properties: {} } }]
    const more = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'now', input: { zone: 'UTC' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'Twelve o’clock' }] },
    ]
    const { reply } = await count('openai', COUNT, { model: 'gpt-4o', messages: [...messages, ...more], tools })
    expect(reply.input_tokens).toBeGreaterThan(40)
    expect(reply.input_tokens).toBeLessThan(60)
  })

  test('are returned to Gemini clients in their own format', async () => {
    const body = { contents: [{ role: 'user', parts: [{ text: 'Hello, world!' }] }] }
    const { reply } = await count('openai', '/v1beta/models/gpt-4o:countTokens', body)
    expect(reply).toEqual({ totalTokens: 11 })
  })

  test('extrapolate from a sample of a long text', async () => {
    const text = 'one two three four '.repeat(50_000)
    const { reply } = await count('openai', COUNT, { model: 'gpt-4o', messages: [{ role: 'user', content: text }] })
    expect(reply.input_tokens).toBeGreaterThan(195_000)
    expect(reply.input_tokens).toBeLessThan(205_000)
  })

  test('an unreadable request is rejected in the client’s format', async () => {
    const { status, reply } = await count('openai', COUNT, { model: 'gpt-4o', messages: 'no' })
    expect(status).toBe(400)
    expect(reply).toMatchObject({ type: 'error', error: { message: expect.stringContaining('messages') } })
  })
})

test('Bedrock counts tokens for Claude itself, and other models are estimated', async () => {
  const asked = { model: 'anthropic.claude-sonnet-4', messages }
  const { reply, seen } = await count('bedrock', COUNT, asked, { inputTokens: 9 })
  expect(reply).toEqual({ input_tokens: 9 })
  expect(seen[0]?.path).toBe('/model/anthropic.claude-sonnet-4/count-tokens')
  const { input } = JSON.parse(seen[0]?.body ?? '')
  expect(JSON.parse(Buffer.from(input.invokeModel.body, 'base64').toString())).toEqual({
    anthropic_version: 'bedrock-2023-05-31',
    max_tokens: 1,
    messages,
  })
  const other = await count('bedrock', COUNT, { model: 'amazon.nova-pro', messages })
  expect({ reply: other.reply, seen: other.seen }).toEqual({ reply: { input_tokens: 11 }, seen: [] })
})
