import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { main } from '../../../src/cli/main.ts'
import { memoryIo } from '../../cli/memory-io.ts'

const root = new URL('../../../', import.meta.url)
const CONFIG = `
llm:
  port: 4000
  models:
  - {name: openai, provider: openAI, params: {model: gpt-4o, apiKey: k}}
  - {name: claude, provider: anthropic, params: {model: claude-sonnet-4-5, apiKey: k}}
  - {name: gemini, provider: gemini, params: {model: gemini-2.5-pro, apiKey: k}}
  - {name: bedrock, provider: bedrock, params: {model: "anthropic.claude-sonnet-4-5-v1:0", awsRegion: us-east-1}}
  - {name: titan, provider: bedrock, params: {model: "amazon.titan-embed-text-v2:0", awsRegion: us-east-1}}
  - {name: nova, provider: bedrock, params: {model: "amazon.nova-embed-v1:0", awsRegion: us-east-1}}
  - {name: cohere, provider: bedrock, params: {model: "cohere.embed-v4:0", awsRegion: us-east-1}}
  - {name: vertex, provider: vertex, params: {model: gemini-2.5-pro, vertexProject: p, vertexRegion: us-central1}}
  - {name: gecko, provider: vertex, params: {model: text-embedding-005, vertexProject: p, vertexRegion: us-central1}}
  - {name: ranker, provider: vertex, params: {model: semantic-ranker, vertexProject: p, vertexRegion: us-central1}}
`
const CHATS = ['openai', 'claude', 'gemini', 'bedrock', 'vertex']
const parts = [{ role: 'user', parts: [{ text: 'Hi' }] }]
const blocks = [{ role: 'user', content: [{ text: 'Hi' }] }]
const messages = [{ role: 'user', content: 'Hi' }]

/** Requests of one conversation in every format, whole and streamed. */
const conversations = (model: string) => [
  ...[false, true].flatMap(stream => [
    { path: '/v1/chat/completions', json: { model, messages, stream } },
    { path: '/v1/messages', json: { model, messages, stream, max_tokens: 9 } },
    { path: '/v1/responses', json: { model, input: 'Hi', stream } },
  ]),
  { path: `/v1beta/models/${model}:generateContent`, json: { contents: parts } },
  { path: `/v1beta/models/${model}:streamGenerateContent?alt=sse`, json: { contents: parts } },
  { path: `/model/${model}/converse`, json: { messages: blocks } },
  { path: `/model/${model}/converse-stream`, json: { messages: blocks } },
]
const counts = (model: string) => [
  { path: '/v1/messages/count_tokens', json: { model, messages } },
  { path: `/v1beta/models/${model}:countTokens`, json: { contents: parts } },
]

async function run(file: object) {
  const folder = mkdtempSync(join(tmpdir(), 'gwctl-formats-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'gateway.yaml'), CONFIG)
  writeFileSync(join(folder, 'all.gwtest.yaml'), JSON.stringify({ config: 'gateway.yaml', ...file }))
  const io = memoryIo({ cwd: folder })
  return { code: await main(['test'], io, root), out: io.stdout.text + io.stderr.text }
}
const cases = (requests: readonly { path: string; json: object }[], expected: object) =>
  requests.map(request => ({
    name: JSON.stringify(request),
    request: { method: 'POST', ...request },
    expect: expected,
  }))

test('a stub serves clients and providers of every format without losses', async () => {
  const said = { status: 200, llm: { text: 'Said.', losses: [] } }
  const embeds = ['openai', 'gemini', 'titan', 'nova', 'cohere', 'gecko'].map(model => ({
    path: '/v1/embeddings',
    json: { model, input: 'Hi' },
  }))
  const ranks = ['cohere', 'ranker'].map(model => ({
    path: '/v2/rerank',
    json: { model, query: 'Hi', documents: ['a', 'b'] },
  }))
  const { code, out } = await run({
    stubs: { '*': { llm: { text: 'Said.', inputTokens: 77 } } },
    cases: [
      ...cases(CHATS.flatMap(conversations), said),
      ...cases(CHATS.flatMap(counts), { status: 200 }),
      ...cases(embeds, { status: 200, 'json.data.0.embedding': { length: 3 } }),
      ...cases(ranks, { status: 200, 'json.results': { length: 2 } }),
    ],
  })
  expect([code, out]).toEqual([0, expect.stringContaining('68 passed')])
})

test('a truncated stream ends with an error, and losses can be forbidden', async () => {
  const all = ['claude', 'gemini', 'bedrock', 'vertex'].flatMap(conversations)
  const requests = [...all, ...conversations('openai').filter(({ path }) => path === '/v1/responses')].filter(
    ({ path, json }) => path.includes('stream') || ('stream' in json && json.stream),
  )
  const cut = (cutAfter: number) => ({ llm: { text: 'Said.', cutAfter } })
  const { code, out } = await run({
    // As many events as it takes to say something.
    stubs: { '*': cut(1), bedrock: cut(2), claude: cut(3), openai: cut(5) },
    cases: cases(requests, { status: 200, body: { matches: '(?i)error|Exception' }, 'llm.text': 'Said.' }),
  })
  expect([code, out]).toEqual([0, expect.stringContaining('21 passed')])
  const lossy = { path: '/v1/chat/completions', json: { model: 'claude', messages, logit_bias: { 1: 1 } } }
  const lost = await run({ cases: cases([lossy], { 'llm.losses': [] }) })
  expect([lost.code, lost.out]).toEqual([1, expect.stringContaining('llm.losses  expected [], got ["logit_bias"]')])
})
