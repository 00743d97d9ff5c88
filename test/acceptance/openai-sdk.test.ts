import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'
import { ANSWER, startOpenAiServer, USAGE } from '../helpers/openai-server.ts'

const file = (url: string) => `
config: {logging: {level: info}}
llm:
  port: 4000
  models:
  - name: gpt-4o
    provider: openAI
    params: {baseUrl: '${url}/v1', apiKey: $KEY}
  - name: 'mini-*'
    provider: openAI
    params: {baseUrl: '${url}/v1', apiKey: $KEY, model: gpt-4o-mini}
`

async function start() {
  const upstream = await startOpenAiServer()
  const gateway = await startGateway(file(upstream.url), { env: { KEY: 'sk-real' } })
  const client = new OpenAI({ baseURL: `${gateway.url(4000)}/v1`, apiKey: 'sk-client', maxRetries: 0 })
  return {
    upstream,
    gateway,
    client,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

const messages = [{ role: 'user' as const, content: 'hello' }]

describe('the OpenAI SDK pointed at the gateway', () => {
  test('works unchanged, with the configured key sent upstream instead of its own', async () => {
    await using at = await start()
    const answer = await at.client.chat.completions.create({ model: 'gpt-4o', messages })
    expect(answer.choices[0]!.message.content).toBe(ANSWER.join(''))
    expect(answer.usage).toMatchObject({ prompt_tokens: USAGE.prompt_tokens })
    expect(at.upstream.seen[0]!.headers.authorization).toBe('Bearer sk-real')
    expect((await at.client.models.list()).data.map(m => m.id)).toContain('gpt-4o')
  })

  test('streams, with usage in the log and metrics', async () => {
    await using at = await start()
    let text = ''
    for await (const chunk of await at.client.chat.completions.create({ model: 'mini-x', messages, stream: true }))
      text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe(ANSWER.join(''))
    expect(JSON.parse(at.upstream.seen[0]!.body).model).toBe('gpt-4o-mini')
    const log = await eventually(() => at.gateway.logged.join('').match(/gen_ai\.usage\.input_tokens=.*/))
    expect(log[0]).toMatch(
      new RegExp(`input_tokens=${USAGE.prompt_tokens} .*output_tokens=${USAGE.completion_tokens} `),
    )
    expect(at.gateway.gateway.metrics.render()).toContain('gen_ai_token_type="input"')
    expect(at.gateway.logged.join('')).not.toContain('sk-real')
  })

  test('gets an error it understands for an unknown model', async () => {
    await using at = await start()
    await expect(at.client.chat.completions.create({ model: 'other', messages })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    })
    expect(at.upstream.seen).toHaveLength(0)
  })

  test('cancels the provider call when it disconnects mid-stream', async () => {
    await using at = await start()
    at.upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(
        'data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"first"}}]}\n\n',
      )
    })
    const stream = await at.client.chat.completions.create({ model: 'gpt-4o', messages, stream: true })
    for await (const chunk of stream) {
      expect(chunk.choices[0]!.delta.content).toBe('first')
      break
    }
    stream.controller.abort()
    await at.upstream.seen[0]!.cutOff
  })
})

/** Waits turn by turn of the event loop for what is written behind a reply. */
async function eventually<T>(look: () => T | null): Promise<T> {
  for (;;) {
    const found = look()
    if (found !== null) return found
    await new Promise(resolve => setImmediate(resolve))
  }
}
