import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { startGateway } from '../../helpers/gateway.ts'
import { type OpenAiServer, sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

const AWS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' }
const TOKENS = 'x-amzn-bedrock-input-token-count'

async function embed(model: string, reply: object, asked: object, headers: Record<string, string> = {}, status = 200) {
  await using upstream: OpenAiServer = await startOpenAiServer()
  upstream.answer((_req, res) => {
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
    sendJson(res, status, reply)
  })
  await using gateway = await startGateway(
    `llm:
  port: 4000
  models:
  - {name: "*", provider: bedrock, params: {baseUrl: "${upstream.url}"}}
`,
    { env: AWS },
  )
  const client = new OpenAI({ baseURL: `${gateway.url(4000)}/v1`, apiKey: 'k', maxRetries: 0 })
  const result = await client.embeddings.create({ model, input: 'Hi', ...asked } as never).then(
    value => ({ value, error: undefined }),
    (error: { status: number; message: string }) => ({ value: undefined, error }),
  )
  const [seen] = upstream.seen
  return { ...result, path: seen?.path, body: seen && JSON.parse(seen.body), log: gateway.logged.join('') }
}

const floats = [0.5, -1]

test.each([
  [
    'amazon.titan-embed-text-v2:0',
    { encoding_format: 'float', dimensions: 256, normalize: true },
    { embedding: floats, inputTextTokenCount: 3 },
    { inputText: 'Hi', dimensions: 256, normalize: true },
  ],
  [
    'cohere.embed-english-v3',
    { encoding_format: 'float', input: ['Hi', 'you'], truncate: 'END' },
    { embeddings: [floats, floats] },
    { texts: ['Hi', 'you'], input_type: 'search_query', truncate: 'END' },
  ],
  [
    'cohere.embed-v4:0',
    { encoding_format: 'float', dimensions: 512, input_type: 'search_document' },
    { embeddings: { float: [floats] } },
    { texts: ['Hi'], input_type: 'search_document', output_dimension: 512 },
  ],
  [
    'amazon.nova-2-multimodal-embeddings-v1:0',
    { encoding_format: 'float', dimensions: 384 },
    { embeddings: [{ embeddingType: 'TEXT', embedding: floats }] },
    {
      taskType: 'SINGLE_EMBEDDING',
      singleEmbeddingParams: {
        embeddingPurpose: 'GENERIC_INDEX',
        embeddingDimension: 384,
        text: { truncationMode: 'END', value: 'Hi' },
      },
    },
  ],
])('calls %s in its native format', async (model, asked, reply, sent) => {
  const { value, path, body } = await embed(model, reply, asked, { [TOKENS]: '3' })
  expect(path).toBe(`/model/${encodeURIComponent(model)}/invoke`)
  expect(body).toEqual(sent)
  expect(value?.data.map(({ embedding }) => embedding)).toEqual(
    (Array.isArray((asked as { input?: unknown }).input) ? [0, 1] : [0]).map(() => floats),
  )
  expect(value).toMatchObject({ object: 'list', model, usage: { prompt_tokens: 3, total_tokens: 3 } })
})

test('returns base64 to the SDK, which requests it by default', async () => {
  const { value, body } = await embed('amazon.titan-embed-text-v2:0', { embedding: floats, inputTextTokenCount: 1 }, {})
  expect(body).toEqual({ inputText: 'Hi' })
  expect(value?.data[0]?.embedding).toEqual(floats)
})

test.each([
  [{ input: ['a', 'b'] }, 'embeds one text a call'],
  [{ input: [1, 2] }, 'takes texts, not tokens'],
  [{ input: [] }, 'input'],
])('rejects %j before the call', async (asked, words) => {
  const { error, path } = await embed('amazon.titan-embed-text-v2:0', {}, asked)
  expect(error?.status).toBe(400)
  expect(error?.message).toContain(words)
  expect(path).toBeUndefined()
})

test('provider errors are returned in the client’s format', async () => {
  const reply = { message: 'Too many requests', __type: 'ThrottlingException' }
  const { error } = await embed('amazon.titan-embed-text-v2:0', reply, {}, {}, 429)
  expect(error).toMatchObject({ status: 429, message: expect.stringContaining('Too many requests') })
})

test.each([{}, { embedding: 'x' }, { embeddings: [] }])(
  'a reply without an embedding yields a 502: %j',
  async reply => {
    const { error } = await embed('amazon.titan-embed-text-v2:0', reply, {})
    expect(error?.status).toBe(502)
  },
)
