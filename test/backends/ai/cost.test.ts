import { describe, expect, test } from 'vitest'
import { until } from '../../engine/observe/until.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

const RATES = `input: "3", output: "15", cacheRead: "0.3", cacheWrite: "3.75", reasoning: "15", inputAudio: "40", outputAudio: "80"`
const USAGE = {
  prompt_tokens: 3050,
  completion_tokens: 625,
  total_tokens: 3675,
  prompt_tokens_details: { cached_tokens: 2000, audio_tokens: 50 },
  completion_tokens_details: { reasoning_tokens: 100, audio_tokens: 25 },
}

async function call(catalogs: string, { usage = USAGE, model = 'm', files = {}, env = {} } = {}) {
  await using upstream = await startOpenAiServer()
  upstream.answer((_req, res) => sendJson(res, 200, { id: '1', model, choices: [], usage }))
  await using gateway = await startGateway(
    `config:
  modelCatalog: ${catalogs}
frontendPolicies:
  accessLog: {add: {rate: llm.costRates.cacheRead, input: llm.cost.input, total: llm.cost.total}}
llm:
  port: 4000
  models:
  - {name: "*", provider: openai, params: {baseUrl: "${upstream.url}"}}
`,
    { files, env },
  )
  const body = JSON.stringify({ model: 'asked', messages: [{ role: 'user', content: 'Hi' }] })
  await (await fetch(`${gateway.url(4000)}/v1/chat/completions`, { method: 'POST', body })).text()
  await until(() => gateway.logged.some(line => line.includes('gen_ai')))
  const log = gateway.logged.find(line => line.includes('gen_ai'))
  return {
    log,
    cost: Number(/agw\.ai\.usage\.cost\.total=(\S+)/.exec(log ?? '')?.[1]),
    metrics: gateway.gateway.metrics.render(),
  }
}

const inline = (models: string) => `[{inline: {providers: {openai: {models: {${models}}}}}}]`

test('prices each kind of token separately', async () => {
  const { cost, log, metrics } = await call(inline(`m: {rates: {${RATES}}}`))
  // 1,000 plain, 2,000 from the cache, 50 of audio; 500 plain, 100 of reasoning, 25 of audio.
  expect(cost).toBe(0.0166)
  expect(log).toContain('rate=0.3')
  expect(log).toContain('input=0.003')
  expect(metrics).toMatch(/gen_ai_client_cost_usd_total\{[^}]*\} 0\.0166/)
  expect(metrics).toMatch(/cost_catalog_lookups_total\{status="Exact"[^}]*\} 1/)
})

test.each([
  ['the requested model', 'asked: {rates: {input: "1"}}', 3.05e-3],
  ['the responding model takes precedence', 'asked: {rates: {input: "1"}}, m: {rates: {input: "2"}}', 6.1e-3],
  ['a numeric rate', 'm: {rates: {input: 0.5}}', 1.525e-3],
  [
    'a long-context tier',
    'm: {rates: {input: "1"}, tiers: [{contextOver: 1000, rates: {input: "2"}}, {contextOver: 3050, rates: {input: "9"}}]}',
    6.1e-3,
  ],
  ['the smallest price', 'm: {rates: {input: "0.000001"}}', 3.05e-9],
])('%s', async (_what, models, expected) => {
  expect((await call(inline(models))).cost).toBe(expected)
})

test.each([
  ['Missing', 'other: {rates: {input: "1"}}'],
  ['Unpriced', 'm: {tags: [vision]}'],
])('%s', async (status, models) => {
  const { cost, metrics } = await call(inline(models))
  expect(cost).toBeNaN()
  expect(metrics).toContain(`agentgateway_cost_catalog_lookups_total{status="${status}"`)
  expect(metrics).not.toMatch(/cost_usd_total\{/)
})

describe('multiple sources', () => {
  const files = {
    'a.json': JSON.stringify({ providers: { openai: { models: { m: { rates: { input: '1', output: '2' } } } } } }),
    'b.json': JSON.stringify({ providers: { openai: { models: { m: { rates: { input: '4' } } } } } }),
  }
  const usage = { ...USAGE, prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 }
  const plain = { ...usage, prompt_tokens_details: {}, completion_tokens_details: {} } as never

  test('a later source overrides an earlier one, price by price', async () => {
    expect((await call('[{file: a.json}, {file: b.json}]', { files, usage: plain })).cost).toBe(0.006)
  })

  test('MODEL_CATALOG_PATHS replaces them', async () => {
    const env = { MODEL_CATALOG_PATHS: 'b.json,a.json' }
    expect((await call('[]', { files, usage: plain, env })).cost).toBe(0.003)
  })
})

test.each([
  ['[{inline: {providers: {openai: {models: {m: {rates: {input: "1,5"}}}}}}}]', '`1,5` is not a price'],
  ['[{inline: {providers: {openai: {models: {m: {rates: {inputs: "1"}}}}}}}]', 'unknown field `inputs`'],
  ['[{inline: "{"}]', 'not valid JSON'],
  [
    `[{inline: '{"providers": {"openai": {"models": {"m": {"rates": {"input": "-1"}}}}}}'}]`,
    'providers.openai.models.m',
  ],
])('rejects %s', async (catalogs, words) => {
  await expect(call(catalogs)).rejects.toThrow(words)
})
