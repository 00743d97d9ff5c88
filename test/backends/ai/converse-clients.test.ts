import { describe, expect, test } from 'vitest'
import type { RawEvent } from '../../../src/llm/chat/codec.ts'
import { FrameReader, writeFrames } from '../../../src/llm/framing/event-stream-frames.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { type OpenAiServer, sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

const AWS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' }

function gatewayTo(provider: string, { url }: OpenAiServer, more = '') {
  const params = `{baseUrl: "${url}", model: "real:0"}`
  return startGateway(`llm: {port: 4000, models: [{name: m, provider: ${provider}, params: ${params}${more}}]}`, {
    env: AWS,
  })
}

function ask(gateway: TestGateway, operation: string): Promise<Response> {
  return fetch(`${gateway.url(4000)}/model/m/${operation}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'AWS4-HMAC-SHA256 Credential=OF-THE-CLIENT' },
    body: JSON.stringify({ messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }),
  })
}

async function framesOf(reply: Response): Promise<RawEvent[]> {
  const events: RawEvent[] = []
  new FrameReader(1 << 20, event => events.push(event)).push(Buffer.from(await reply.arrayBuffer()))
  return events
}

const lines = (...events: readonly object[]) => events.map(event => `${JSON.stringify(event)}\n`).join('')
const SAID = lines(
  { messageStart: { role: 'assistant' } },
  { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'Hello' } } },
)
const END = lines(
  { contentBlockStop: { contentBlockIndex: 0 } },
  { messageStop: { stopReason: 'end_turn' } },
  { metadata: { usage: { inputTokens: 4, outputTokens: 2, totalTokens: 6 } } },
)

describe("a client of Bedrock's runtime", () => {
  test('reaches Bedrock, whose frames pass as they are', async () => {
    await using upstream = await startOpenAiServer()
    const sent = writeFrames(SAID + END)
    upstream.answer((_req, res) =>
      res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' }).end(sent),
    )
    await using gateway = await gatewayTo('bedrock', upstream)
    expect(Buffer.from(await (await ask(gateway, 'converse-stream')).arrayBuffer())).toEqual(sent)
    const [seen] = upstream.seen
    expect([seen?.path, JSON.parse(seen?.body ?? '')]).toEqual([
      '/model/real%3A0/converse-stream',
      { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] },
    ])
    expect(seen?.headers.authorization).toMatch(/Credential=AKIDEXAMPLE\//)
  })

  test.each(['end', 'break'])('gets an exception for an %s before the reply is complete', async how => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
      res.write(writeFrames(SAID), () => setTimeout(() => (how === 'end' ? res.end() : res.socket?.destroy()), 2))
    })
    await using gateway = await gatewayTo('bedrock', upstream)
    const frames = await framesOf(await ask(gateway, 'converse-stream'))
    expect(frames.map(({ name }) => name)).toEqual(['messageStart', 'contentBlockDelta', 'internalServerException'])
  })

  test('reaches a provider of another format, whole and as a stream', async () => {
    await using upstream = await startOpenAiServer()
    const choice = { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }
    upstream.answer((_req, res) =>
      sendJson(res, 200, { id: 'c', model: 'x', choices: [choice], usage: { prompt_tokens: 4, completion_tokens: 2 } }),
    )
    await using gateway = await gatewayTo('openAI', upstream)
    expect(await (await ask(gateway, 'converse')).json()).toMatchObject({
      output: { message: { content: [{ text: 'Hello' }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 4, outputTokens: 2 },
    })
    const reply = await ask(gateway, 'converse-stream')
    expect(reply.headers.get('content-type')).toBe('application/vnd.amazon.eventstream')
    expect((await framesOf(reply)).at(-1)).toMatchObject({ name: 'metadata' })
  })

  test('reads errors by their type', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => sendJson(res, 429, { error: { type: 'rate_limit_error', message: 'slow' } }))
    await using gateway = await gatewayTo('openAI', upstream)
    const reply = await ask(gateway, 'converse')
    expect([reply.status, await reply.json()]).toEqual([
      429,
      { __type: expect.stringMatching(/^(?:ThrottlingException|ServiceQuotaExceededException)$/), message: 'slow' },
    ])
  })

  test('is refused where there are guards, which cannot read the format', async () => {
    await using upstream = await startOpenAiServer()
    const guards = ', guardrails: {request: [{regex: {action: mask, rules: [{pattern: x}]}}]}'
    await using gateway = await gatewayTo('bedrock', upstream, guards)
    const reply = await ask(gateway, 'converse')
    expect([reply.status, await reply.text()]).toEqual([403, expect.stringContaining('guards cannot read `converse`')])
    expect(upstream.seen).toEqual([])
  })
})
