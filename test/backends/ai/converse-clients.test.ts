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

const HI = { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }

function ask(gateway: TestGateway, operation: string, body: object = HI): Promise<Response> {
  return fetch(`${gateway.url(4000)}/model/m/${operation}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'AWS4-HMAC-SHA256 Credential=OF-THE-CLIENT' },
    body: JSON.stringify(body),
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

describe("a client of Bedrock's runtime API", () => {
  test('reaches Bedrock, whose frames pass through unchanged', async () => {
    await using upstream = await startOpenAiServer()
    const sent = writeFrames(SAID + END)
    upstream.answer((_req, res) =>
      res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' }).end(sent),
    )
    await using gateway = await gatewayTo('bedrock', upstream)
    expect(Buffer.from(await (await ask(gateway, 'converse-stream')).arrayBuffer())).toEqual(sent)
    const [seen] = upstream.seen
    expect([seen?.path, JSON.parse(seen?.body ?? '')]).toEqual(['/model/real%3A0/converse-stream', HI])
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

  test('reaches a provider of another format, streaming or not', async () => {
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

  test('gets errors by type', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => sendJson(res, 429, { error: { type: 'rate_limit_error', message: 'slow' } }))
    await using gateway = await gatewayTo('openAI', upstream)
    const reply = await ask(gateway, 'converse')
    expect([reply.status, await reply.json()]).toEqual([
      429,
      { __type: expect.stringMatching(/^(?:ThrottlingException|ServiceQuotaExceededException)$/), message: 'slow' },
    ])
  })
})

describe('guards for Bedrock runtime clients', () => {
  const MASK = '{regex: {action: mask, rules: [{pattern: secret}]}}'
  const REJECT = '{regex: {action: reject, rules: [{pattern: secret}]}, rejection: {body: not that}}'
  const guards = (guard: string) => {
    const scoped = (...scopes: string[]) => (/regex/.test(guard) ? guard.replace('{', `{scope: [${scopes}], `) : guard)
    const all = scoped('systemPrompt', 'messages', 'toolInput', 'toolOutput')
    return `, guardrails: {streaming: Enabled, request: [${all}], response: [${scoped('messages', 'toolInput')}]}`
  }
  /** In pieces that no chunk shows whole. */
  const SECRETS = lines(
    { messageStart: { role: 'assistant' } },
    { contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { text: 'my sec' } } } },
    { contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { text: 'ret' } } } },
    { contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { signature: 'c2ln' } } } },
    { contentBlockStop: { contentBlockIndex: 0 } },
    { contentBlockDelta: { contentBlockIndex: 1, delta: { text: 'no s' } } },
    { contentBlockDelta: { contentBlockIndex: 1, delta: { text: 'ecret' } } },
    { contentBlockStop: { contentBlockIndex: 1 } },
    { contentBlockStart: { contentBlockIndex: 2, start: { toolUse: { toolUseId: 't', name: 'f' } } } },
    { contentBlockDelta: { contentBlockIndex: 2, delta: { toolUse: { input: '{"a":"secr' } } } },
    { contentBlockDelta: { contentBlockIndex: 2, delta: { toolUse: { input: 'et"}' } } } },
    { contentBlockStop: { contentBlockIndex: 2 } },
    { messageStop: { stopReason: 'tool_use', additionalModelResponseFields: { said: 'secret' } } },
    { metadata: { usage: { inputTokens: 4, outputTokens: 2, totalTokens: 6 } } },
  )
  const hidden = (text: string) => text.replaceAll('secret', '<masked>')

  test('mask text anywhere in a request', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => sendJson(res, 200, { output: { message: { content: [] } }, stopReason: 'end_turn' }))
    await using gateway = await gatewayTo('bedrock', upstream, guards(MASK))
    const body = {
      system: [{ text: 'secret' }, { guardContent: { text: { text: 'secret' } } }],
      messages: [
        {
          role: 'user',
          content: [
            { text: 'a secret' },
            { image: { format: 'png', source: { bytes: 'secret==' } } },
            { document: { name: 'secret', context: 'secret', format: 'txt', source: { text: 'secret' } } },
            { video: { source: { s3Location: { uri: 's3://secret' } } } },
            { searchResult: { source: 'x', title: 'secret', content: [{ text: 'secret' }] } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'signed secret', signature: 'c2ln' } } },
            { reasoningContent: { reasoningText: { text: 'a secret' } } },
            { toolUse: { toolUseId: 't', name: 'f', input: { a: ['secret'] } } },
          ],
        },
        {
          role: 'user',
          content: [{ toolResult: { toolUseId: 't', content: [{ text: 'secret' }, { json: { a: 'secret' } }] } }],
        },
      ],
      promptVariables: { name: { text: 'secret' } },
    }
    expect((await ask(gateway, 'converse', body)).status).toBe(200)
    const kept = ['secret==', 's3://secret', 'signed secret']
    const wanted = kept.reduce((text, each) => text.replace(hidden(each), each), hidden(JSON.stringify(body)))
    expect(JSON.parse(upstream.seen[0]?.body ?? '')).toEqual(JSON.parse(wanted))
  })

  test('mask text in a reply', async () => {
    await using upstream = await startOpenAiServer()
    const content = [
      { reasoningContent: { reasoningText: { text: 'my secret', signature: 'c2ln' } } },
      { text: 'no secret' },
      { toolUse: { toolUseId: 't', name: 'f', input: { a: 'secret' } } },
    ]
    upstream.answer((_req, res) =>
      sendJson(res, 200, { output: { message: { role: 'assistant', content } }, stopReason: 'tool_use' }),
    )
    await using gateway = await gatewayTo('bedrock', upstream, guards(MASK))
    expect(await (await ask(gateway, 'converse')).json()).toMatchObject({
      output: {
        message: {
          content: [
            { reasoningContent: { reasoningText: { text: 'my <masked>' } } },
            { text: 'no <masked>' },
            { toolUse: { input: { a: '<masked>' } } },
          ],
        },
      },
    })
  })

  test('mask text across frame boundaries, however the bytes are chunked', async () => {
    await using upstream = await startOpenAiServer()
    const sent = writeFrames(SECRETS)
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
      for (let at = 0; at < sent.length; at += 7) res.write(sent.subarray(at, at + 7))
      res.end()
    })
    await using gateway = await gatewayTo('bedrock', upstream, guards(MASK))
    const frames = await framesOf(await ask(gateway, 'converse-stream'))
    const events = frames.map(({ data }) => JSON.parse(data))
    const said = (index: number, of: (delta: Record<string, never>) => string | undefined) =>
      events
        .filter(event => event.contentBlockIndex === index)
        .map(({ delta }) => (delta && of(delta)) ?? '')
        .join('')
    expect(said(0, ({ reasoningContent }) => reasoningContent?.['text'])).toBe('my <masked>')
    expect(said(1, ({ text }) => text)).toBe('no <masked>')
    expect(said(2, ({ toolUse }) => toolUse?.['input'])).toBe('{"a":"<masked>"}')
    expect(events.at(-2)).toEqual({ stopReason: 'tool_use', additionalModelResponseFields: { said: '<masked>' } })
    expect(frames.at(-1)).toMatchObject({ name: 'metadata' })
  })

  test('check frames converted from another format, and end them with an exception on rejection', async () => {
    await using upstream = await startOpenAiServer()
    const chunk = (content: string) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
    upstream.answer((_req, res) =>
      res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(chunk('first '.repeat(300)) + chunk('a sec') + chunk('ret')),
    )
    await using service = await startOpenAiServer()
    service.answer((_req, res, body) =>
      sendJson(res, 200, { action: body.includes('secret') ? { body: 'not that', status_code: 451 } : {} }),
    )
    const webhook = `{webhook: {target: {host: "127.0.0.1:${service.port}"}}}`
    await using gateway = await gatewayTo('openAI', upstream, guards(webhook))
    const frames = await framesOf(await ask(gateway, 'converse-stream'))
    expect(frames.at(-1)).toMatchObject({
      name: expect.stringMatching(/Exception$/),
      data: expect.stringContaining('not that'),
    })
    expect(JSON.stringify(frames)).not.toContain('secret')
  })

  test('reject a request', async () => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayTo('bedrock', upstream, guards(REJECT))
    const reply = await ask(gateway, 'converse', { messages: [{ role: 'user', content: [{ text: 'secret' }] }] })
    expect([reply.status, await reply.text()]).toEqual([403, 'not that'])
    expect(upstream.seen).toEqual([])
  })

  test('let no truncated frame through', async () => {
    await using upstream = await startOpenAiServer()
    const sent = writeFrames(SECRETS).subarray(0, -3)
    upstream.answer((_req, res) =>
      res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' }).end(sent),
    )
    await using gateway = await gatewayTo('bedrock', upstream, guards(MASK))
    const frames = await framesOf(await ask(gateway, 'converse-stream'))
    expect(frames.at(-1)?.name).toBe('internalServerException')
  })
})
