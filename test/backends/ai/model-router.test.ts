import { brotliCompressSync, gzipSync } from 'node:zlib'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { compileLlmSection } from '../../../src/backends/ai/index.ts'
import type { LlmSpec } from '../../../src/backends/ai/llm-schema.ts'
import { llmSection } from '../../../src/config/standalone/llm-section.ts'
import type { Finding } from '../../../src/diagnostics/diagnostic.ts'
import type { Exchange } from '../../../src/http/exchange.ts'
import { type OpenAiServer, sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'
import { decoded, type Gateway, serve, testContext, testRuntime, tryDecode } from './gateway.ts'

interface Options {
  readonly prepare?: (x: Exchange) => void
  readonly random?: () => number
}

async function gatewayOf(section: object, options: Options = {}): Promise<Gateway> {
  const runtime = { ...testRuntime(), ...(options.random ? { random: options.random } : {}) }
  const findings: Finding[] = []
  const backend = compileLlmSection(decoded(llmSection, section) as LlmSpec, testContext(runtime, findings))
  expect(findings).toEqual([])
  return serve(backend, runtime, options.prepare)
}

function findingsOf(section: object): Finding[] {
  const findings: Finding[] = []
  const spec = tryDecode(llmSection, section, findings)
  if (findings.length === 0) compileLlmSection(spec as LlmSpec, testContext(testRuntime(), findings))
  return findings
}

const at = (upstream: OpenAiServer, more: object = {}) => ({ baseUrl: upstream.url, ...more })

async function ask(gateway: Gateway, model: unknown, path = '/v1/chat/completions'): Promise<Response> {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })
  return fetch(gateway.url + path, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
}

async function sentModels(upstream: OpenAiServer): Promise<string[]> {
  return upstream.seen.map(({ body }) => (JSON.parse(body) as { model: string }).model)
}

describe('the unmodified OpenAI SDK', () => {
  test('lists public and virtual models', async () => {
    const provider = 'openAI'
    await using gateway = await gatewayOf({
      models: [
        { name: 'gpt-*', provider },
        { name: 'hidden', visibility: 'internal', provider },
        { name: 'small', provider },
      ],
      virtualModels: [{ name: 'best', routing: { weighted: { targets: [{ model: 'hidden' }] } } }],
    })
    const models = await new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'x' }).models.list()
    expect(models.data.map(({ id }) => id)).toEqual(['gpt-*', 'small', 'best'])
    expect(models.data[0]).toMatchObject({ object: 'model', owned_by: 'openai', created: expect.any(Number) })
  })

  test("chats with the gateway's key instead of its own", async () => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayOf({
      models: [{ name: '*', provider: 'openai', params: at(upstream, { apiKey: 'sk-gateway' }) }],
    })
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'sk-client', maxRetries: 0 })
    const reply = await client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] })
    expect(reply.choices).toHaveLength(1)
    expect(upstream.seen[0]?.headers.authorization).toBe('Bearer sk-gateway')
    expect(JSON.stringify(upstream.seen)).not.toContain('sk-client')
  })

  test('gets router errors as API errors', async () => {
    await using gateway = await gatewayOf({ models: [{ name: 'gpt-4o', provider: 'openAI' }] })
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'x', maxRetries: 0 })
    const failure = await client.chat.completions.create({ model: 'nope', messages: [] }).catch((e: unknown) => e)
    expect(failure).toBeInstanceOf(OpenAI.NotFoundError)
    expect(failure).toMatchObject({ code: 'model_not_found', type: 'invalid_request_error' })
  })
})

describe('the model', () => {
  test('is matched by exact name, then by the most specific wildcard', async () => {
    await using upstream = await startOpenAiServer()
    const model = (name: string) => ({ name, provider: 'openAI', params: at(upstream, { model: `via ${name}` }) })
    await using gateway = await gatewayOf({ models: ['*', 'gpt-*', 'gpt-4*', '*-latest', 'gpt-4o'].map(model) })
    for (const name of ['gpt-4o', 'gpt-4o-mini', 'gpt-5', 'claude-latest', 'GPT-4o']) await ask(gateway, name)
    expect(await sentModels(upstream)).toEqual(['via gpt-4o', 'via gpt-4*', 'via gpt-*', 'via *-latest', 'via *'])
  })

  test('is selected by headers among entries of the same name', async () => {
    await using upstream = await startOpenAiServer()
    const params = (model: string) => at(upstream, { model })
    await using gateway = await gatewayOf({
      models: [
        {
          name: 'm',
          provider: 'openAI',
          params: params('engineering'),
          matches: [{ headers: [{ name: 'x-org', value: { exact: 'eng' } }] }],
        },
        { name: 'm', provider: 'openAI', params: params('rest') },
      ],
    })
    const body = '{"model":"m"}'
    await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body, headers: { 'x-org': 'eng' } })
    await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body })
    expect(await sentModels(upstream)).toEqual(['engineering', 'rest'])
  })

  test('that is internal cannot be requested', async () => {
    await using gateway = await gatewayOf({
      models: [{ name: 'inner', visibility: 'internal', provider: 'openAI' }],
    })
    expect((await ask(gateway, 'inner')).status).toBe(404)
  })

  test('is limited to the allowed models of an API key, also in the list', async () => {
    await using gateway = await gatewayOf(
      { models: ['gpt-4o', 'other'].map(name => ({ name, provider: 'openAI' })) },
      {
        prepare: x => {
          x.auth.apiKey = { allowedModels: ['gpt-*'] }
        },
      },
    )
    const denied = await ask(gateway, 'other')
    const unknown = await ask(gateway, 'nobody')
    expect([denied.status, await denied.json()]).toEqual([404, await unknown.json()])
    const list = (await (await fetch(`${gateway.url}/v1/models`)).json()) as { data: { id: string }[] }
    expect(list.data.map(({ id }) => id)).toEqual(['gpt-4o'])
  })

  test('has its own defaults, overrides and transformations', async () => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayOf({
      models: [
        {
          name: 'm',
          provider: 'openAI',
          params: at(upstream),
          defaults: { temperature: 0.2, top_p: 1 },
          overrides: { user: 'gateway', seed: 1 },
          transformation: { seed: 'llmRequest.seed + 1', n: 'llmRequest.missing' },
        },
      ],
    })
    const body = '{"model":"m","temperature":0.9,"user":"client","seed":41,"n":3}'
    await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body })
    expect(JSON.parse(upstream.seen[0]?.body ?? '')).toEqual({
      model: 'm',
      temperature: 0.9,
      top_p: 1,
      user: 'gateway',
      seed: 42,
    })
  })

  test('can take everything but its name from a referenced provider', async () => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayOf({
      providers: [{ name: 'house', provider: 'openAI', params: at(upstream, { apiKey: 'sk-house' }) }],
      models: [{ name: 'fast', provider: { reference: 'house' }, params: { model: 'gpt-4o-mini' } }],
    })
    await ask(gateway, 'fast')
    expect(await sentModels(upstream)).toEqual(['gpt-4o-mini'])
    expect(upstream.seen[0]?.headers.authorization).toBe('Bearer sk-house')
  })

  test('is called at the base path of its URL', async () => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayOf({
      models: [{ name: '*', provider: 'groq', params: { baseUrl: `${upstream.url}/openai/v1/` } }],
    })
    await ask(gateway, 'llama')
    expect(upstream.seen[0]?.path).toBe('/openai/v1/chat/completions')
  })
})

describe('messages', () => {
  const MESSAGE = {
    id: 'msg_1',
    type: 'message',
    model: 'claude-x',
    content: [],
    usage: { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 10 },
  }
  const send = (gateway: Gateway, headers: Record<string, string>) =>
    fetch(`${gateway.url}/v1/messages?beta=true`, {
      method: 'POST',
      body: '{"model":"claude","max_tokens":9}',
      headers,
    })

  test('reach a provider with native support, with the key in the header it reads', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => sendJson(res, 200, MESSAGE))
    await using gateway = await gatewayOf({
      models: [{ name: '*', provider: 'anthropic', params: at(upstream, { apiKey: 'sk-ant-gateway' }) }],
    })
    const over = gateway.next()
    const reply = await send(gateway, { authorization: 'Bearer client', origin: 'http://page', 'anthropic-beta': 'b' })
    expect(await reply.json()).toEqual(MESSAGE)
    const [seen] = upstream.seen
    expect(seen?.path).toBe('/v1/messages?beta=true')
    expect(seen?.headers).toMatchObject({
      'x-api-key': 'sk-ant-gateway',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'b',
    })
    expect(seen?.headers).not.toHaveProperty('authorization')
    expect(seen?.headers).not.toHaveProperty('origin')
    expect((await over).llm).toMatchObject({
      provider: 'anthropic',
      inputTokens: 13,
      outputTokens: 4,
      totalTokens: 17,
      cachedInputTokens: 10,
    })
  })

  test("carry the client's own API key as the provider expects it, but leave subscription tokens alone", async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => sendJson(res, 200, MESSAGE))
    await using gateway = await gatewayOf({ models: [{ name: '*', provider: 'anthropic', params: at(upstream) }] })
    await send(gateway, { authorization: 'Bearer sk-mine' })
    await send(gateway, { authorization: 'Bearer sk-ant-oat01' })
    expect(upstream.seen.map(({ headers }) => [headers['x-api-key'], headers.authorization])).toEqual([
      ['sk-mine', undefined],
      [undefined, 'Bearer sk-ant-oat01'],
    ])
  })

  test('that cannot be converted are rejected in the messages format', async () => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayOf({ models: [{ name: '*', provider: 'openAI', params: at(upstream) }] })
    const reply = await send(gateway, {})
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining('messages: is required') },
    })
  })
})

describe('virtual models', () => {
  const models = (upstream: OpenAiServer) =>
    ['a', 'b', 'c'].map(name => ({ name, visibility: 'internal', provider: 'openAI', params: at(upstream) }))

  test('are distributed by weight', async () => {
    await using upstream = await startOpenAiServer()
    const draws = [0, 0.24, 0.26, 0.99]
    const targets = [{ model: 'a' }, { model: 'b', weight: 3 }]
    await using gateway = await gatewayOf(
      { models: models(upstream), virtualModels: [{ name: 'v', routing: { weighted: { targets } } }] },
      { random: () => draws.shift() as number },
    )
    for (let i = 0; i < 4; i++) expect((await ask(gateway, 'v')).status).toBe(200)
    expect(await sentModels(upstream)).toEqual(['a', 'a', 'b', 'b'])
  })

  test('fail over to the next priority within the same request', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res, body) => {
      const { model } = JSON.parse(body) as { model: string }
      if (model === 'c') sendJson(res, 200, { model, choices: [] })
      else sendJson(res, model === 'a' ? 503 : 429, { error: { message: 'busy' } })
    })
    const targets = [
      { model: 'c', priority: 9 },
      { model: 'a', priority: 0 },
      { model: 'b', priority: 5 },
    ]
    await using gateway = await gatewayOf({
      models: models(upstream),
      virtualModels: [{ name: 'v', routing: { failover: { targets } } }],
    })
    const over = gateway.next()
    expect(await (await ask(gateway, 'v')).json()).toMatchObject({ model: 'c' })
    expect(await sentModels(upstream)).toEqual(['a', 'b', 'c'])
    expect((await over).llm).toMatchObject({ requestModel: 'c', responseModel: 'c' })
  })

  test('return the last response when every model fails', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => sendJson(res, 503, { error: { message: 'busy', type: 'overloaded' } }))
    const targets = [
      { model: 'a', priority: 0 },
      { model: 'b', priority: 1 },
    ]
    await using gateway = await gatewayOf({
      models: models(upstream),
      virtualModels: [{ name: 'v', routing: { failover: { targets } } }],
    })
    const reply = await ask(gateway, 'v')
    expect([reply.status, await reply.json()]).toEqual([503, { error: { message: 'busy', type: 'overloaded' } }])
  })

  test('are selected by conditions, with an error when none holds', async () => {
    await using upstream = await startOpenAiServer()
    const targets = [
      { model: 'a', when: 'request.headers["x-tier"] == "free"' },
      { model: 'b', when: 'size(llmRequest.messages) > 0' },
    ]
    await using gateway = await gatewayOf({
      models: models(upstream),
      virtualModels: [{ name: 'v', routing: { conditional: { targets } } }],
    })
    const send = (headers: Record<string, string>, messages: unknown[]) => {
      const body = JSON.stringify({ model: 'v', messages })
      return fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body, headers })
    }
    await send({ 'x-tier': 'free' }, [])
    await send({}, [{ role: 'user', content: 'x' }])
    expect(await sentModels(upstream)).toEqual(['a', 'b'])
    const none = await send({}, [])
    expect([none.status, await none.json()]).toMatchObject([
      400,
      { error: { code: 'virtual_model_no_matching_target' } },
    ])
  })
})

describe('request bodies', () => {
  test.each([
    ['invalid JSON', 'x', {}, 400, 'invalid_request_body'],
    ['no model', '{"messages":[]}', {}, 400, 'missing_model'],
    ['a model that is not a string', '{"model":["gpt-4o"]}', {}, 400, 'missing_model'],
    ['a model inside __proto__', '{"__proto__":{"model":"gpt-4o"}}', {}, 400, 'missing_model'],
    ['more than 2 MiB', 'x'.repeat(2 * 1024 * 1024 + 1), {}, 413, 'request_body_too_large'],
    ['an unknown content encoding', '{}', { 'content-encoding': 'rot13' }, 415, 'unsupported_content_encoding'],
    ['damaged gzip', '{}', { 'content-encoding': 'gzip' }, 400, 'request_body_decode_failed'],
    [
      'a gzip bomb',
      gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20)),
      { 'content-encoding': 'gzip' },
      413,
      'request_body_too_large',
    ],
  ])('with %s are rejected', async (_name, body, headers, status, code) => {
    await using gateway = await gatewayOf({ models: [{ name: '*', provider: 'openAI' }] })
    const reply = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body, headers })
    expect(reply.status).toBe(status)
    expect(reply.headers.get('content-type')).toBe('application/json')
    expect(await reply.json()).toMatchObject({ error: { code, type: 'invalid_request_error' } })
  })

  test('that are compressed are read, and forwarded uncompressed', async () => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayOf({ models: [{ name: '*', provider: 'openAI', params: at(upstream) }] })
    const json = '{"model":"m","messages":[]}'
    for (const [coding, body] of [
      ['gzip', gzipSync(json)],
      ['br', brotliCompressSync(json)],
    ] as const) {
      await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        body,
        headers: { 'content-encoding': coding },
      })
    }
    expect(upstream.seen.map(({ body, headers }) => [body, headers['content-encoding']])).toEqual([
      [json, undefined],
      [json, undefined],
    ])
  })

  test('that are forms carry the model in a field', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => sendJson(res, 200, { created: 1, data: [] }))
    await using gateway = await gatewayOf({
      models: [{ name: 'gpt-image', provider: 'openAI', params: at(upstream, { apiKey: 'sk-gateway' }) }],
    })
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'x', maxRetries: 0 })
    const image = new File([Buffer.alloc(1000, 1)], 'cat.png', { type: 'image/png' })
    await client.images.edit({ model: 'gpt-image', image, prompt: 'a hat' })
    expect(upstream.seen[0]?.path).toBe('/v1/images/edits')
    expect(upstream.seen[0]?.body).toContain('a hat')
    expect(upstream.seen[0]?.headers.authorization).toBe('Bearer sk-gateway')
  })
})

describe('the llm section', () => {
  test.each([
    ['a wildcard inside a name', { models: [{ name: 'a*b', provider: 'openAI' }] }, 'GW106'],
    ['two wildcards', { models: [{ name: '*a*', provider: 'openAI' }] }, 'GW106'],
    ['an unknown provider', { models: [{ name: 'a', provider: 'opanai' }] }, 'GW104'],
    ['a dangling provider reference', { models: [{ name: 'a', provider: { reference: 'x' } }] }, 'GW204'],
    ['a duplicate id', { models: ['a', 'b'].map(name => ({ id: 'i', name, provider: 'openAI' })) }, 'GW203'],
    [
      'a custom provider without an address',
      { models: [{ name: 'a', provider: { custom: { formats: [{ type: 'completions' }] } } }] },
      'GW103',
    ],
    [
      'a base URL with a query',
      { models: [{ name: 'a', provider: 'openAI', params: { baseUrl: 'http://h/?q' } }] },
      'GW106',
    ],
    [
      'a virtual model with an unknown target',
      { models: [], virtualModels: [{ name: 'v', routing: { weighted: { targets: [{ model: 'x' }] } } }] },
      'GW204',
    ],
    [
      'a missing condition on a target before the last',
      {
        models: [{ name: 'a', provider: 'openAI' }],
        virtualModels: [{ name: 'v', routing: { conditional: { targets: [{ model: 'a' }, { model: 'a' }] } } }],
      },
      'GW111',
    ],
    ['Vertex AI without a project', { models: [{ name: 'a', provider: 'vertex' }] }, 'GW103'],
    [
      'a provider entry for Azure without a resource',
      {
        providers: [{ name: 'p', provider: 'azure', params: { azureResourceType: 'openAI' } }],
        models: [{ name: 'a', provider: { reference: 'p' } }],
      },
      'GW103',
    ],
    [
      'parameters next to a provider reference',
      {
        providers: [{ name: 'p', provider: 'openAI' }],
        models: [{ name: 'a', provider: { reference: 'p' }, params: { apiKey: 'k' } }],
      },
      'GW111',
    ],
  ])('with %s is invalid', (_name, section, code) => {
    expect(findingsOf(section).map(finding => finding.code)).toContain(code)
  })
})
