import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { until } from '../../engine/observe/until.ts'
import { startEntraServer } from '../../helpers/entra-server.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { serviceAccount, startGoogleServer } from '../../helpers/google-server.ts'
import { type OpenAiServer, sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

const section = (models: readonly object[]) => JSON.stringify({ llm: { port: 4000, models } })

interface Asked {
  readonly path: string
  readonly credentials: Record<string, unknown>
  readonly body: Record<string, unknown>
}

const CREDENTIALS = ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key']

function askedOf({ seen }: OpenAiServer): Asked[] {
  return seen.map(({ path, headers, body }) => ({
    path,
    credentials: Object.fromEntries(CREDENTIALS.flatMap(name => (headers[name] ? [[name, headers[name]]] : []))),
    body: JSON.parse(body) as Record<string, unknown>,
  }))
}

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 4, output_tokens: 2 },
}
const CONTENT = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2, totalTokenCount: 6 },
  modelVersion: 'gemini',
  responseId: 'r',
}
const COMPLETION = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'gpt',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 },
}

/** Answers as each endpoint of the clouds does. */
async function startCloud(): Promise<OpenAiServer> {
  const cloud = await startOpenAiServer()
  cloud.answer((req, res, body) => {
    const path = req.url ?? ''
    if (path.endsWith(':streamRawPredict')) return void stream(res, messageEvents())
    if (path.includes(':streamGenerateContent')) return void stream(res, [`data: ${JSON.stringify(CONTENT)}\n\n`])
    if (path.includes('countTokens')) return sendJson(res, 200, { totalTokens: 7 })
    if (/count.tokens/.test(path)) return sendJson(res, 200, { input_tokens: 7 })
    if (/:rawPredict|\/messages/.test(path)) return sendJson(res, 200, MESSAGE)
    if (path.includes(':generateContent')) return sendJson(res, 200, CONTENT)
    if (path.includes('/responses')) return sendJson(res, 200, response(JSON.parse(body).model))
    sendJson(res, 200, COMPLETION)
  })
  return cloud
}

function response(model: string) {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model,
    output: [
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
      },
    ],
    usage: { input_tokens: 4, output_tokens: 2, total_tokens: 6 },
  }
}

function messageEvents(): string[] {
  const events = [
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ]
  return events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

function stream(res: import('node:http').ServerResponse, chunks: readonly string[]): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const chunk of chunks) res.write(chunk)
  res.end()
}

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<[number, unknown]> {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer of-the-client', ...headers },
    body: JSON.stringify(body),
  })
  const text = await reply.text()
  return [reply.status, text.startsWith('{') ? JSON.parse(text) : text]
}

const HI = [{ role: 'user', content: 'Hi' }]

describe('Vertex AI', () => {
  const PLACE = '/v1/projects/my-project/locations/europe-west1/publishers'
  const TOKEN = { authorization: 'Bearer token-1' }

  async function start(models: readonly string[] = ['*']) {
    const google = await startGoogleServer()
    const cloud = await startCloud()
    const params = { vertexProject: 'my-project', vertexRegion: 'europe-west1', baseUrl: `${cloud.url}/` }
    const auth = { gcp: { credential: { file: 'key.json' } } }
    const gateway = await startGateway(
      section(models.map(name => ({ name, provider: 'vertex', auth, params: { ...params, pathPrefix: '/px' } }))),
      { files: { 'key.json': JSON.stringify(serviceAccount(google)) } },
    )
    return {
      cloud,
      url: gateway.url(4000),
      async [Symbol.asyncDispose]() {
        await Promise.all([gateway, google, cloud].map(each => each[Symbol.asyncDispose]()))
      },
    }
  }

  test('serves Claude to OpenAI clients in the form Vertex AI expects', async () => {
    await using vertex = await start()
    const client = new OpenAI({ baseURL: `${vertex.url}/v1`, apiKey: 'of-the-client', maxRetries: 0 })
    const reply = await client.chat.completions.create({
      model: 'claude-sonnet-4-20250514',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect(reply.choices[0]?.message.content).toBe('Hello')
    const [asked] = askedOf(vertex.cloud)
    expect(asked).toMatchObject({
      path: `/px${PLACE}/anthropic/models/claude-sonnet-4@20250514:rawPredict`,
      body: { anthropic_version: 'vertex-2023-10-16', max_tokens: 5 },
    })
    expect(asked?.credentials).toEqual(TOKEN)
    expect(asked?.body).not.toHaveProperty('model')
  })

  test('serves Claude to native clients, including streams and token counts', async () => {
    await using vertex = await start()
    const model = 'publishers/anthropic/models/claude-x'
    const cached = { type: 'text', text: 'Be brief', cache_control: { type: 'ephemeral', scope: 'global' } }
    const asked = { model, max_tokens: 5, system: [cached], messages: HI, stream: true, output_format: { type: 'x' } }
    const [status, events] = await post(`${vertex.url}/v1/messages`, asked, { 'x-api-key': 'of-the-client' })
    expect([status, events]).toEqual([200, messageEvents().join('')])
    expect(await post(`${vertex.url}/v1/messages/count_tokens`, { model, messages: HI })).toEqual([
      200,
      { input_tokens: 7 },
    ])
    expect(askedOf(vertex.cloud)).toEqual([
      {
        path: `/px${PLACE}/anthropic/models/claude-x:streamRawPredict`,
        credentials: TOKEN,
        body: {
          max_tokens: 5,
          system: [{ ...cached, cache_control: { type: 'ephemeral' } }],
          messages: HI,
          stream: true,
          anthropic_version: 'vertex-2023-10-16',
        },
      },
      {
        path: `/px${PLACE}/anthropic/models/count-tokens:rawPredict`,
        credentials: TOKEN,
        body: { model: 'claude-x', messages: HI, anthropic_version: 'vertex-2023-10-16' },
      },
    ])
  })

  test('serves Gemini to clients of every format', async () => {
    await using vertex = await start()
    const model = 'gemini-2.5-pro'
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
    for (const [path, body] of [
      ['/v1/chat/completions', { model, messages: HI }],
      ['/v1/chat/completions', { model, messages: HI, stream: true }],
      ['/v1/messages', { model, max_tokens: 5, messages: HI }],
      ['/v1/responses', { model, input: 'Hi' }],
      [`/v1beta/models/${model}:generateContent`, { contents }],
      [`/v1beta/models/${model}:streamGenerateContent?alt=sse&key=of-the-client`, { contents }],
      [`/v1beta/models/${model}:countTokens`, { contents }],
    ] as const) {
      const [status, reply] = await post(vertex.url + path, body)
      expect([path, status]).toEqual([path, 200])
      expect(JSON.stringify(reply)).toMatch(/Hello|"totalTokens":7/)
    }
    const asked = askedOf(vertex.cloud)
    expect(asked.map(({ path }) => path.replace(`/px${PLACE}`, ''))).toEqual([
      `/google/models/${model}:generateContent`,
      `/google/models/${model}:streamGenerateContent?alt=sse`,
      `/google/models/${model}:generateContent`,
      `/google/models/${model}:generateContent`,
      `/google/models/${model}:generateContent`,
      `/google/models/${model}:streamGenerateContent?alt=sse`,
      `/google/models/${model}:countTokens`,
    ])
    expect(new Set(asked.map(({ credentials }) => JSON.stringify(credentials)))).toEqual(
      new Set([JSON.stringify(TOKEN)]),
    )
  })

  test('serves other models through its OpenAI-compatible endpoint', async () => {
    await using vertex = await start()
    const model = 'meta/llama-4'
    expect((await post(`${vertex.url}/v1/chat/completions`, { model, messages: HI }))[0]).toBe(200)
    expect(askedOf(vertex.cloud)[0]).toMatchObject({
      path: `/px${PLACE.replace('/publishers', '')}/endpoints/openapi/chat/completions`,
      body: { model },
    })
  })

  test('embeds texts in its own format', async () => {
    await using vertex = await start()
    vertex.cloud.answer((_req, res) =>
      sendJson(res, 200, {
        predictions: [3, 4].map(token_count => ({ embeddings: { values: [0.5, -1], statistics: { token_count } } })),
      }),
    )
    const client = new OpenAI({ baseURL: `${vertex.url}/v1`, apiKey: 'of-the-client', maxRetries: 0 })
    const asked = { model: 'text-embedding-005', input: ['a', 'b'], dimensions: 256, task_type: 'RETRIEVAL_DOCUMENT' }
    const reply = await client.embeddings.create(asked)
    expect(reply.data.map(({ embedding }) => embedding)).toEqual([
      [0.5, -1],
      [0.5, -1],
    ])
    expect(reply.usage).toEqual({ prompt_tokens: 7, total_tokens: 7 })
    expect(askedOf(vertex.cloud)).toEqual([
      {
        path: `/px${PLACE}/google/models/text-embedding-005:predict`,
        credentials: TOKEN,
        body: {
          instances: ['a', 'b'].map(content => ({ content, task_type: 'RETRIEVAL_DOCUMENT' })),
          parameters: { outputDimensionality: 256 },
        },
      },
    ])
    vertex.cloud.answer((_req, res) => sendJson(res, 200, { predictions: [] }))
    const refused = await client.embeddings.create({ model: 'gemini-embedding-001', input: 'a' }).catch(e => e)
    expect(refused).toMatchObject({ status: 502 })
    const tokens = await client.embeddings.create({ model: 'gemini-embedding-001', input: [1, 2] }).catch(e => e)
    expect(tokens).toMatchObject({ status: 400 })
  })

  test.each(['claude-x/../../y', 'claude-x?z', 'claude-x%2f', 'anthropic/..'])(
    'rejects model %s, which would change the upstream path',
    async model => {
      await using vertex = await start()
      const [status] = await post(`${vertex.url}/v1/messages`, { model, max_tokens: 5, messages: HI })
      expect([status, vertex.cloud.seen]).toEqual([400, []])
    },
  )

  test('uses credentials from the environment when the file names none', async () => {
    await using google = await startGoogleServer()
    await using cloud = await startCloud()
    const params = { vertexProject: 'p', baseUrl: `${cloud.url}/px` }
    const env = { GCE_METADATA_HOST: google.host }
    await using gateway = await startGateway(section([{ name: '*', provider: 'vertex', params }]), { env })
    const headers = { 'x-api-key': 'of-the-client', 'x-goog-api-key': 'of-the-client' }
    await post(`${gateway.url(4000)}/v1/chat/completions`, { model: 'gemini-x', messages: HI }, headers)
    const [asked] = askedOf(cloud)
    expect(asked?.credentials).toEqual({ authorization: 'Bearer machine-token' })
    expect(asked?.path).toBe('/px/v1/projects/p/locations/global/publishers/google/models/gemini-x:generateContent')
  })

  test('returns an error in the client’s format when there is no token', async () => {
    await using google = await startGoogleServer()
    google.answer = res => res.writeHead(503).end()
    await using cloud = await startCloud()
    const params = { vertexProject: 'p', baseUrl: `${cloud.url}/px` }
    const env = { GCE_METADATA_HOST: google.host }
    await using gateway = await startGateway(section([{ name: '*', provider: 'vertex', params }]), { env })
    const [status, reply] = await post(`${gateway.url(4000)}/v1/chat/completions`, { model: 'gemini-x', messages: HI })
    expect([status, cloud.seen]).toEqual([500, []])
    expect(JSON.stringify(reply)).toContain('backend authentication failed: no Google credentials')
  })
})

describe('Azure', () => {
  const API: readonly (readonly [string, Record<string, unknown>])[] = [
    ['/v1/chat/completions', { messages: HI, max_tokens: 5 }],
    ['/v1/responses', { input: 'Hi' }],
    ['/v1/embeddings', { input: 'Hi' }],
  ]

  test.each<[string, object, readonly string[]]>([
    [
      'OpenAI, version 1',
      { azureResourceType: 'openAI' },
      ['/px/openai/v1/chat/completions', '/px/openai/v1/responses', '/px/openai/v1/embeddings'],
    ],
    [
      'OpenAI, preview',
      { azureResourceType: 'openAI', azureApiVersion: 'preview' },
      ['chat/completions', 'responses', 'embeddings'].map(each => `/px/openai/v1/${each}?api-version=preview`),
    ],
    [
      'OpenAI, dated version',
      { azureResourceType: 'openAI', azureApiVersion: '2024-06-01' },
      ['deployments/gpt-4o/chat/completions', 'responses', 'deployments/gpt-4o/embeddings'].map(
        each => `/px/openai/${each}?api-version=2024-06-01`,
      ),
    ],
    [
      'Foundry',
      { azureResourceType: 'foundry', azureProjectName: 'my-project' },
      ['chat/completions', 'responses', 'embeddings'].map(each => `/px/api/projects/my-project/openai/v1/${each}`),
    ],
    [
      'Foundry, by resource only',
      { azureResourceType: 'aiServices' },
      ['chat/completions', 'responses', 'embeddings'].map(each => `/px/api/projects/my-resource/openai/v1/${each}`),
    ],
  ])('calls %s with an API key', async (_what, type, paths) => {
    await using cloud = await startCloud()
    const params = { azureResourceName: 'my-resource', apiKey: 'azure-key', baseUrl: `${cloud.url}/px`, ...type }
    await using gateway = await startGateway(section([{ name: '*', provider: 'azure', params }]))
    for (const [path, body] of API) {
      const headers = { 'api-key': 'of-the-client' }
      expect((await post(gateway.url(4000) + path, { model: 'gpt-4o', ...body }, headers))[0]).toBe(200)
    }
    const asked = askedOf(cloud)
    expect(asked.map(({ path }) => path)).toEqual(paths)
    for (const { credentials } of asked) expect(credentials).toEqual({ 'api-key': 'azure-key' })
    expect(asked[0]?.body).toEqual({ model: 'gpt-4o', messages: HI, max_completion_tokens: 5 })
  })

  test('serves Claude through Foundry in its native format', async () => {
    await using cloud = await startCloud()
    const params = {
      azureResourceName: 'r',
      azureResourceType: 'foundry',
      apiKey: 'azure-key',
      baseUrl: `${cloud.url}/px`,
    }
    await using gateway = await startGateway(section([{ name: '*', provider: 'azure', params }]))
    const url = gateway.url(4000)
    const model = 'claude-x'
    expect(await post(`${url}/v1/messages`, { model, max_tokens: 5, messages: HI })).toEqual([200, MESSAGE])
    expect((await post(`${url}/v1/chat/completions`, { model, messages: HI }))[0]).toBe(200)
    expect((await post(`${url}/v1/messages/count_tokens`, { model, messages: HI }))[1]).toEqual({ input_tokens: 7 })
    expect(askedOf(cloud).map(({ path }) => path)).toEqual([
      '/px/anthropic/v1/messages',
      '/px/anthropic/v1/messages',
      '/px/anthropic/v1/messages/count_tokens',
    ])
    expect(cloud.seen[0]?.headers['anthropic-version']).toBe('2023-06-01')
  })

  test('has Claude count its cache apart, as Anthropic does', async () => {
    await using cloud = await startOpenAiServer()
    const usage = { input_tokens: 4, cache_read_input_tokens: 100, cache_creation_input_tokens: 10, output_tokens: 2 }
    cloud.answer((_req, res) => sendJson(res, 200, { ...MESSAGE, usage }))
    const foundry = { azureResourceName: 'r', azureResourceType: 'foundry', apiKey: 'k', baseUrl: cloud.url }
    const models = [
      { name: 'foundry', provider: 'azure', params: { ...foundry, model: 'claude-x' } },
      { name: 'anthropic', provider: 'anthropic', params: { apiKey: 'k', baseUrl: cloud.url, model: 'claude-x' } },
    ]
    await using gateway = await startGateway(section(models))
    for (const { name } of models)
      await post(`${gateway.url(4000)}/v1/messages`, { model: name, max_tokens: 5, messages: HI })
    await until(() => gateway.logged.filter(line => line.includes('gen_ai')).length === 2)
    const counts = gateway.logged.flatMap(line => /gen_ai\.usage\.input_tokens=(\d+)/.exec(line)?.[1] ?? [])
    expect(counts).toEqual(['114', '114'])
  })

  test.each([
    ['openAI', 'https://cognitiveservices.azure.com/.default'],
    ['foundry', 'https://ai.azure.com/.default'],
  ])('calls %s with an Entra ID token for its scope', async (azureResourceType, scope) => {
    await using entra = await startEntraServer()
    await using cloud = await startCloud()
    const params = { azureResourceName: 'r', azureResourceType, baseUrl: `${cloud.url}/px` }
    const env = {
      AZURE_AUTHORITY_HOST: `http://${entra.host}`,
      AZURE_TENANT_ID: 'tenant',
      AZURE_CLIENT_ID: 'app',
      AZURE_CLIENT_SECRET: 'app+secret',
    }
    await using gateway = await startGateway(section([{ name: '*', provider: 'azure', params }]), { env })
    const client = new OpenAI({ baseURL: `${gateway.url(4000)}/v1`, apiKey: 'of-the-client', maxRetries: 0 })
    await client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] })
    expect(askedOf(cloud)[0]?.credentials).toEqual({ authorization: 'Bearer secret-token' })
    expect(entra.asked).toEqual([`tenant app ${scope}`])
  })

  test('rejects models that would change the deployment path', async () => {
    await using cloud = await startCloud()
    const params = {
      azureResourceName: 'r',
      azureResourceType: 'openAI',
      azureApiVersion: '2024-06-01',
      apiKey: 'k',
      baseUrl: `${cloud.url}/px`,
    }
    await using gateway = await startGateway(section([{ name: '*', provider: 'azure', params }]))
    for (const model of ['..', 'a/b', 'a b']) {
      expect((await post(`${gateway.url(4000)}/v1/chat/completions`, { model, messages: HI }))[0]).toBe(400)
    }
    expect(cloud.seen).toEqual([])
  })
})

describe('Copilot', () => {
  test('uses the signed-in user’s token and the endpoint each model needs', async () => {
    await using cloud = await startCloud()
    const params = { baseUrl: `${cloud.url}/px` }
    const env = { GH_COPILOT_TOKEN: 'ghu_token' }
    await using gateway = await startGateway(section([{ name: '*', provider: 'copilot', params }]), { env })
    const url = gateway.url(4000)
    for (const [model, path, sent] of [
      ['gpt-4o', '/v1/chat/completions', '/px/chat/completions'],
      ['gpt-4o', '/v1/messages', '/px/chat/completions'],
      ['gpt-4o', '/v1/responses', '/px/chat/completions'],
      ['gpt-5', '/v1/chat/completions', '/px/responses'],
      ['gpt-5', '/v1/responses', '/px/responses'],
      ['gpt-5-mini', '/v1/chat/completions', '/px/chat/completions'],
      ['claude-x', '/v1/messages', '/px/v1/messages'],
      ['claude-x', '/v1/chat/completions', '/px/chat/completions'],
    ] as const) {
      const body = path === '/v1/responses' ? { model, input: 'Hi' } : { model, max_tokens: 5, messages: HI }
      expect([model, path, (await post(url + path, body, { 'x-api-key': 'c' }))[0]]).toEqual([model, path, 200])
      const asked = askedOf(cloud).at(-1)
      expect([model, path, asked?.path]).toEqual([model, path, sent])
      expect(asked?.credentials).toEqual({ authorization: 'Bearer ghu_token' })
    }
    expect(cloud.seen[0]?.headers).toMatchObject({
      'editor-version': expect.stringMatching(/^gwctl\//),
      'x-github-api-version': '2025-10-01',
      'x-initiator': 'agent',
      'openai-intent': 'conversation-agent',
    })
  })
})

test("applies OpenAI's moderation setting to chats and responses, whatever the client sends", async () => {
  await using cloud = await startCloud()
  const moderation = { policy: { input: { mode: 'block' } } }
  const ai = { provider: { openAI: { moderation } }, hostOverride: `127.0.0.1:${cloud.port}`, pathPrefix: '/v1' }
  const routes = { '/v1/messages': 'messages', '/v1/responses': 'responses', '/v1/embeddings': 'embeddings' }
  const backend = { ai, policies: { ai: { routes } } }
  await using gateway = await startGateway(
    JSON.stringify({ binds: [{ port: 4000, listeners: [{ routes: [{ backends: [backend] }] }] }] }),
  )
  const model = 'gpt-4o'
  for (const [path, body] of [
    ['/v1/chat/completions', { model, messages: HI, moderation: 'none' }],
    ['/v1/messages', { model, max_tokens: 5, messages: HI }],
    ['/v1/responses', { model, input: 'Hi' }],
    ['/v1/embeddings', { model, input: 'Hi' }],
  ] as const) {
    await post(gateway.url(4000) + path, body)
  }
  const said = { model: 'omni-moderation-latest', policy: { input: { mode: 'block' } } }
  expect(askedOf(cloud).map(({ body }) => body.moderation)).toEqual([said, said, said, undefined])
})
