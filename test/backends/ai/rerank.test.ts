import { describe, expect, test } from 'vitest'
import { PROVIDERS } from '../../../src/backends/ai/providers/index.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

const AWS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' }
const DOCUMENTS = ['Berne', { text: 'Paris' }, 'Rome']

async function rerank(provider: object, reply: object, asked: object, status = 200) {
  await using upstream = await startOpenAiServer()
  upstream.answer((_req, res) => sendJson(res, status, reply))
  const given = { ...provider, params: { baseUrl: upstream.url, ...(provider as { params?: object }).params } }
  await using gateway = await startGateway(JSON.stringify({ llm: { port: 4000, models: [{ name: '*', ...given }] } }), {
    env: AWS,
  })
  const answer = await fetch(`${gateway.url(4000)}/v2/rerank`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'capital of France', documents: DOCUMENTS, ...asked }),
  })
  const [seen] = upstream.seen
  return { status: answer.status, body: await answer.json(), path: seen?.path, sent: seen && JSON.parse(seen.body) }
}

describe('Bedrock', () => {
  const provider = { provider: 'bedrock', params: { awsRegion: 'eu-west-1' } }
  const results = {
    results: [
      { index: 1, relevanceScore: 0.9 },
      { index: 0, relevanceScore: 0.2 },
    ],
  }

  test('reranks in its native format', async () => {
    const asked = { model: 'cohere.rerank-v3-5:0', top_n: 2, max_tokens_per_doc: 100 }
    const { status, body, path, sent } = await rerank(provider, results, asked)
    expect(status).toBe(200)
    expect(body).toEqual({
      model: asked.model,
      results: [
        { index: 1, relevance_score: 0.9 },
        { index: 0, relevance_score: 0.2 },
      ],
    })
    expect(path).toBe('/rerank')
    expect(sent).toEqual({
      queries: [{ type: 'TEXT', textQuery: { text: 'capital of France' } }],
      sources: ['Berne', 'Paris', 'Rome'].map(text => ({
        type: 'INLINE',
        inlineDocumentSource: { type: 'TEXT', textDocument: { text } },
      })),
      rerankingConfiguration: {
        type: 'BEDROCK_RERANKING_MODEL',
        bedrockRerankingConfiguration: {
          modelConfiguration: {
            modelArn: 'arn:aws:bedrock:eu-west-1::foundation-model/cohere.rerank-v3-5:0',
            additionalModelRequestFields: { max_tokens_per_doc: 100 },
          },
          numberOfResults: 2,
        },
      },
    })
  })

  test('reranks on a separate host', () => {
    const { hosts } = PROVIDERS.bedrock.wire({ region: 'eu-west-1' } as never)
    expect(hosts).toEqual({ rerank: 'bedrock-agent-runtime.eu-west-1.amazonaws.com' })
  })

  test.each([
    ['no documents', { documents: [] }],
    ['no query', { query: 7 }],
    ['a document of an unsupported type', { documents: [7] }],
  ])('rejects a request with %s', async (_, asked) => {
    const { status, sent } = await rerank(provider, results, { model: 'amazon.rerank-v1:0', ...asked })
    expect([status, sent]).toEqual([400, undefined])
  })

  test.each([{}, { results: [{ index: 7, relevanceScore: 1 }] }])('an invalid reply yields a 502: %j', async reply => {
    expect((await rerank(provider, reply, { model: 'amazon.rerank-v1:0' })).status).toBe(502)
  })
})

test('Vertex AI reranks in its native format, and documents are echoed on request', async () => {
  const provider = { provider: 'vertex', params: { vertexProject: 'p', apiKey: 'k' } }
  const records = [{ id: '1', score: 0.75 }, { id: '2' }]
  const asked = { model: 'semantic-ranker-default@latest', return_documents: true }
  const { status, body, path, sent } = await rerank(provider, { records }, asked)
  expect(status).toBe(200)
  expect(body).toEqual({
    model: asked.model,
    results: [
      { index: 1, relevance_score: 0.75, document: { text: 'Paris' } },
      { index: 2, relevance_score: 1, document: { text: 'Rome' } },
    ],
  })
  expect(path).toBe('/v1/projects/p/locations/global/rankingConfigs/default_ranking_config:rank')
  expect(sent).toEqual({
    model: asked.model,
    query: 'capital of France',
    records: [
      { id: '0', content: 'Berne' },
      { id: '1', content: 'Paris' },
      { id: '2', content: 'Rome' },
    ],
    topN: 3,
    ignoreRecordDetailsInResponse: false,
  })
  const error = { error: { code: 403, message: 'no', status: 'PERMISSION_DENIED' } }
  expect(await rerank(provider, error, asked, 403)).toMatchObject({ status: 403, body: { error: { message: 'no' } } })
})
