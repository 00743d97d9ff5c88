import { describe, expect, test } from 'vitest'
import { writeFrames } from '../../../src/llm/framing/event-stream-frames.ts'
import { ManualClock } from '../../engine/manual-clock.ts'
import { type Plain, startEnvoyServices } from '../../helpers/envoy-services.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

const CHAT = '/v1/chat/completions'
const EMBED = '/v1/embeddings'
const COUNT = '/v1/messages/count_tokens'
/** Eight tokens, four more for the message, three at the end. */
const QUESTION = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello, world! Hello, world!' }] }
const usage = (prompt: number, completion: number) => ({
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
})

async function section(limit: string, { tokenize = true, options = {} } = {}) {
  const upstream = await startOpenAiServer()
  const gateway = await startGateway(
    `
llm:
  port: 4000
  models: [{name: "*", provider: openAI, params: {baseUrl: "${upstream.url}", tokenize: ${tokenize}}}]
  policies: {${limit}}
`,
    { clock: new ManualClock(), ...options },
  )
  return {
    upstream,
    async ask(body: object = QUESTION, path = CHAT) {
      const reply = await fetch(gateway.url(4000) + path, { method: 'POST', body: JSON.stringify(body) })
      return { status: reply.status, left: reply.headers.get('x-ratelimit-remaining'), body: await reply.text() }
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

const bucket = (size: number) =>
  `localRateLimit: [{maxTokens: ${size}, tokensPerFill: ${size}, fillInterval: 1h, type: tokens}]`

describe('tokens estimated before the call', () => {
  test('are rejected without calling the provider when the bucket has too few', async () => {
    await using at = await section(bucket(14))
    const { status, body } = await at.ask()
    expect(status).toBe(429)
    expect(JSON.parse(body)).toMatchObject({ error: { message: 'rate limit exceeded' } })
    expect(at.upstream.seen).toEqual([])
  })

  test('are settled with the usage the provider reports', async () => {
    await using at = await section(bucket(40))
    at.upstream.answer((_req, res) => sendJson(res, 200, { choices: [], ...usage(9, 2) }))
    expect(await at.ask()).toMatchObject({ status: 200, left: '25' })
    expect(await at.ask()).toMatchObject({ status: 200, left: '14' })
    expect(await at.ask()).toMatchObject({ status: 200, left: '3' })
    expect(await at.ask()).toMatchObject({ status: 429, left: '7' })
  })

  test('stay deducted when the provider reports no usage', async () => {
    await using at = await section(bucket(20))
    at.upstream.answer((_req, res) => sendJson(res, 200, { choices: [] }))
    expect((await at.ask()).status).toBe(200)
    expect((await at.ask()).status).toBe(429)
  })

  test('without `tokenize` a request passes as long as one token is left', async () => {
    await using at = await section(bucket(1), { tokenize: false })
    at.upstream.answer((_req, res) => sendJson(res, 200, { choices: [], ...usage(9, 2) }))
    expect((await at.ask()).status).toBe(200)
    expect((await at.ask()).status).toBe(429)
  })

  test('embeddings and bodies of unknown shape are estimated as text', async () => {
    await using at = await section(bucket(30))
    const long = 'word '.repeat(200)
    expect((await at.ask({ model: 'm', input: long }, EMBED)).status).toBe(429)
    expect((await at.ask({ model: 'm', messages: { not: long } })).status).toBe(429)
    at.upstream.answer((_req, res) => sendJson(res, 200, { data: [], ...usage(2, 0) }))
    expect((await at.ask({ model: 'm', input: 'word' }, EMBED)).status).toBe(200)
  })

  test('are deducted once across failover between providers', async () => {
    await using broken = await startOpenAiServer()
    await using good = await startOpenAiServer()
    broken.answer((_req, res) => sendJson(res, 500, {}))
    good.answer((_req, res) => sendJson(res, 200, { choices: [], ...usage(10, 5) }))
    const entry = (name: string, port: number) =>
      `{providers: [{name: ${name}, provider: {openAI: {}}, hostOverride: "127.0.0.1:${port}", tokenize: true}]}`
    await using gateway = await startGateway(
      `
binds: [{port: 8080, listeners: [{routes: [{
  backends: [{ai: {groups: [${entry('one', broken.port)}, ${entry('two', good.port)}]}}],
  policies: {${bucket(20)}}}]}]}]`,
      { clock: new ManualClock() },
    )
    const post = () => fetch(gateway.url(8080) + CHAT, { method: 'POST', body: JSON.stringify(QUESTION) })
    const reply = await post()
    expect([reply.status, reply.headers.get('x-ratelimit-remaining')]).toEqual([200, '5'])
    expect((await post()).status).toBe(429)
    expect([broken.seen.length, good.seen.length]).toEqual([1, 1])
  })

  test('are charged to a rate limit service before the call, and the rest after it', async () => {
    const over = { overallCode: 2 }
    let asked = 0
    await using service = await startEnvoyServices({
      shouldRateLimit: () => (++asked === 5 ? over : { overallCode: 1 }),
    })
    const limit = `remoteRateLimit: {host: '${service.host}', domain: shop, descriptors: [
      {entries: [{key: all, value: '"1"'}], type: tokens}]}`
    await using at = await section(limit)
    at.upstream.answer((_req, res) => sendJson(res, 200, { choices: [], ...usage(16, 4) }))
    expect((await at.ask()).status).toBe(200)
    await expect.poll(() => hitsOf(service)).toEqual([0, 15, 5].map(value => value || undefined))
    expect((await at.ask()).status).toBe(429)
    expect(at.upstream.seen).toHaveLength(1)
  })
})

test('a token count request uses no tokens', async () => {
  await using at = await section(bucket(10), { tokenize: false })
  for (let i = 0; i < 3; i++) {
    const { status, body } = await at.ask({ ...QUESTION, max_tokens: 1 }, COUNT)
    expect({ status, reply: JSON.parse(body) }).toEqual({ status: 200, reply: { input_tokens: 15 } })
  }
  expect((await at.ask()).left).toBe('10')
})

describe('local and remote limits on reply tokens', () => {
  /** Of the provider's: 5 sent, 10 read from its cache, 3 written to it, 2 said. */
  const CACHED = { input_tokens: 5, cache_read_input_tokens: 10, cache_creation_input_tokens: 3 }
  const named = (type: string, rest: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
  const STARTED =
    named('message_start', { message: { id: 'm', role: 'assistant', content: [], model: 'c', usage: CACHED } }) +
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hi' } })
  const ENDED =
    named('content_block_stop', { index: 0 }) +
    named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }) +
    named('message_stop', {})
  const chunk = (rest: object) => `data: ${JSON.stringify({ id: 'c', model: 'g', ...rest })}\n\n`
  const CHUNKS =
    chunk({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }) +
    chunk({
      choices: [],
      usage: { prompt_tokens: 18, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 10 } },
    }) +
    'data: [DONE]\n\n'
  const FRAMES = writeFrames(
    [
      { messageStart: { role: 'assistant' } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'Hi' } } },
      { messageStop: { stopReason: 'end_turn' } },
      {
        metadata: { usage: { inputTokens: 5, outputTokens: 2, cacheReadInputTokens: 10, cacheWriteInputTokens: 3 } },
      },
    ]
      .map(event => `${JSON.stringify(event)}\n`)
      .join(''),
  )
  const QUESTIONS: Record<string, object> = {
    [CHAT]: { ...QUESTION, stream: true },
    '/v1/messages': { model: 'm', max_tokens: 9, stream: true, messages: QUESTION.messages },
  }
  const EVENTS = 'text/event-stream'

  test.each([
    ['openAI', CHAT, EVENTS, CHUNKS],
    ['openAI', '/v1/messages', EVENTS, CHUNKS],
    ['anthropic', '/v1/messages', EVENTS, STARTED + ENDED],
    ['anthropic', CHAT, EVENTS, STARTED + ENDED],
    ['bedrock', CHAT, 'application/vnd.amazon.eventstream', FRAMES],
  ])('count tokens streamed by %s to a client of %s, including cached ones', async (provider, path, type, stream) => {
    await using service = await startEnvoyServices({ shouldRateLimit: () => ({ overallCode: 1 }) })
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => res.writeHead(200, { 'content-type': type }).end(stream))
    await using gateway = await startGateway(
      `
llm:
  port: 4000
  models: [{name: "*", provider: ${provider}, params: {baseUrl: "${upstream.url}", model: m}}]
  policies:
    ${bucket(15)}
    remoteRateLimit: {host: '${service.host}', domain: shop, descriptors: [
      {entries: [{key: all, value: '"1"'}], type: tokens}]}`,
      { clock: new ManualClock(), env: { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' } },
    )
    const ask = () => fetch(gateway.url(4000) + path, { method: 'POST', body: JSON.stringify(QUESTIONS[path]) })
    const first = await ask()
    expect([first.status, await first.text()]).toEqual([200, expect.stringContaining('Hi')])
    await expect.poll(() => hitsOf(service)).toEqual([undefined, 20])
    expect((await ask()).status).toBe(429)
  })

  test('count the usage reported so far when the client disconnects early', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => res.writeHead(200, { 'content-type': EVENTS }).write(STARTED))
    await using gateway = await startGateway(
      `llm: {port: 4000, models: [{name: "*", provider: anthropic, params: {baseUrl: "${upstream.url}"}}], policies: {${bucket(18)}}}`,
      { clock: new ManualClock() },
    )
    const ask = (signal?: AbortSignal) =>
      fetch(gateway.url(4000) + CHAT, { method: 'POST', body: JSON.stringify(QUESTIONS[CHAT]), signal: signal ?? null })
    const leaving = new AbortController()
    const reply = await ask(leaving.signal)
    await reply.body?.getReader().read()
    leaving.abort()
    await upstream.seen[0]?.cutOff
    expect((await ask()).status).toBe(429)
  })
})

function hitsOf({ asked }: { readonly asked: readonly unknown[] }): (number | undefined)[] {
  return asked.map(
    request => ((request as Plain).descriptors as { hitsAddend?: { value?: number } }[])[0]?.hitsAddend?.value,
  )
}
