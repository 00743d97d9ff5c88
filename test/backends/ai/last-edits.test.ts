import { describe, expect, test } from 'vitest'
import { startGateway } from '../../helpers/gateway.ts'
import { type OpenAiServer, sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

const AWS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' }

/** The body that the provider got. */
async function sent(config: (upstream: OpenAiServer) => string, path: string, body: unknown) {
  await using upstream = await startOpenAiServer()
  upstream.answer((_req, res) => sendJson(res, 400, { message: 'no' }))
  await using gateway = await startGateway(config(upstream), { env: AWS })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  await (await fetch(gateway.url(4000) + path, init)).text()
  return JSON.parse(upstream.seen[0]?.body ?? 'null')
}

const CHAT = '/v1/chat/completions'
const words = 'word '.repeat(800)
const POINT = { cachePoint: { type: 'default' } }

describe('prompt caching', () => {
  const bedrock =
    (caching: string, model = 'anthropic.claude-sonnet-4') =>
    (upstream: OpenAiServer) =>
      `llm:
  port: 4000
  models:
  - name: "*"
    provider: bedrock
    params: {baseUrl: "${upstream.url}", model: ${model}}
    promptCaching: ${caching}
`
  const conversation = {
    model: 'm',
    messages: [
      { role: 'system', content: words },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ],
    tools: [{ type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } }],
  }
  /** Where the points are: `system`, the index of a message, `tools`. */
  const points = (body: {
    system: unknown[]
    messages: { content: unknown[] }[]
    toolConfig: { tools: unknown[] }
  }) => {
    const ends = (blocks: unknown[]) => JSON.stringify(blocks.at(-1)) === JSON.stringify(POINT)
    const found: unknown[] = body.messages.flatMap(({ content }, i) => (ends(content) ? [i] : []))
    if (ends(body.system)) found.unshift('system')
    if (ends(body.toolConfig.tools)) found.push('tools')
    expect(JSON.stringify(body).match(/cachePoint/g) ?? []).toHaveLength(found.length)
    return found
  }

  test.each([
    ['{}', ['system', 1]],
    ['{cacheSystem: false}', [1]],
    ['{minTokens: 1041}', [1]],
    ['{minTokens: null, cacheMessages: false}', ['system']],
    ['{cacheMessageOffset: 1}', ['system', 0]],
    ['{cacheMessageOffset: 9, cacheTools: true}', ['system', 0, 'tools']],
  ])('%s', async (caching, expected) => {
    expect(points(await sent(bedrock(caching), CHAT, conversation))).toEqual(expected)
  })

  test.each([
    ['amazon.nova-pro-v1:0', 2],
    ['arn:aws:bedrock:us-east-1:1:application-inference-profile/abc', 2],
    ['anthropic.claude-instant-v1', 0],
    ['meta.llama3-70b', 0],
  ])('sets cache points for %s: %i', async (model, count) => {
    expect(points(await sent(bedrock('{}', model), CHAT, conversation))).toHaveLength(count)
  })

  test('leaves cache points to clients of the messages format', async () => {
    const body = { model: 'm', max_tokens: 5, system: words, messages: conversation.messages.slice(1) }
    expect(JSON.stringify(await sent(bedrock('{}'), '/v1/messages', body))).not.toContain('cachePoint')
  })

  test('is also available in the `ai` policy', async () => {
    const config = (upstream: OpenAiServer) => `binds:
- port: 4000
  listeners:
  - routes:
    - backends:
      - ai: {name: b, provider: {bedrock: {model: amazon.nova-lite-v1}}, hostOverride: "127.0.0.1:${upstream.port}"}
        policies: {ai: {promptCaching: {cacheTools: true}}}
`
    expect(points(await sent(config, CHAT, conversation))).toEqual(['system', 1, 'tools'])
  })
})

describe('final transformations', () => {
  test('see the request as sent to the provider, converted or not', async () => {
    const model = (provider: string) => (upstream: OpenAiServer) =>
      `llm:
  port: 4000
  models:
  - name: "*"
    provider: ${provider}
    params: {baseUrl: "${upstream.url}", apiKey: k}
    overrides: {max_tokens: 7}
    finalTransformation: {metadata: '{"user_id": string(llmRequest.max_tokens)}', top_k: 'llmRequest.absent', user: '"u"'}
`
    const body = { model: 'gpt-x', messages: [{ role: 'user', content: 'Hi' }], top_k: 3 }
    expect(await sent(model('anthropic'), CHAT, body)).toMatchObject({
      model: 'gpt-x',
      max_tokens: 7,
      metadata: { user_id: '7' },
      user: 'u',
    })
    const native = await sent(model('openai'), CHAT, body)
    // OpenAI's name of the limit is known by then.
    expect(native).toMatchObject({ max_completion_tokens: 7, user: 'u' })
    expect(native).not.toHaveProperty('metadata')
    expect(native).not.toHaveProperty('top_k')
  })

  test('apply from the `ai` policy', async () => {
    const config = (upstream: OpenAiServer) => `binds:
- port: 4000
  listeners:
  - routes:
    - policies: {ai: {finalTransformations: {count: 'size(llmRequest.messages)'}}}
      backends:
      - ai: {name: b, provider: {openAI: {}}, hostOverride: "127.0.0.1:${upstream.port}"}
`
    const messages = [{ role: 'user', content: 'a' }]
    expect(await sent(config, CHAT, { model: 'm', messages })).toEqual({ model: 'm', messages, count: 1 })
  })
})
