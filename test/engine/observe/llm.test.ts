import { expect, test } from 'vitest'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream } from '../../helpers/upstream.ts'
import { ManualClock } from '../manual-clock.ts'
import { parseExposition } from './exposition.ts'
import { until } from './until.ts'

const ANSWER = {
  id: '1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-x-2',
  choices: [{ index: 0, message: { role: 'assistant', content: 'secret answer' }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 10,
    completion_tokens: 3,
    total_tokens: 13,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 1 },
  },
}

test('an LLM call logs and counts its tokens, but none of its content', async () => {
  const clock = new ManualClock()
  await using upstream = await startUpstream((req, res) => {
    req.resume()
    req.on('end', () => {
      clock.advance(500)
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify(ANSWER))
    })
  })
  const text = `
frontendPolicies: {accessLog: {add: {params: llm.params, took: proxy.upstreamDuration, before: proxy.requestProcessingDuration}}}
binds:
- port: 3000
  listeners:
  - routes:
    - name: ai
      backends: [{ai: {name: oa, provider: {openAI: {model: gpt-x}}, hostOverride: "${upstream.host}"}}]`
  await using gateway = await startGateway(text, { clock, logFormat: 'json' })
  await fetch(`${gateway.url(3000)}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({
      model: 'any',
      temperature: 0.5,
      seed: 7,
      messages: [{ role: 'user', content: 'secret question' }],
    }),
  }).then(r => r.text())
  await until(() => gateway.logged.join('').includes('"request"'))
  const record = JSON.parse(gateway.logged.join('').trim()) as Record<string, unknown>
  const start = Object.keys(record).indexOf('protocol')
  expect(Object.entries(record).slice(start)).toEqual([
    ['protocol', 'llm'],
    ['gen_ai.operation.name', 'chat'],
    ['gen_ai.provider.name', 'openai'],
    ['gen_ai.request.model', 'gpt-x'],
    ['gen_ai.response.model', 'gpt-x-2'],
    ['gen_ai.usage.input_tokens', 10],
    ['gen_ai.usage.cache_read.input_tokens', 4],
    ['gen_ai.usage.output_tokens', 3],
    ['gen_ai.usage.reasoning_tokens', 1],
    ['gen_ai.request.temperature', 0.5],
    ['gen_ai.request.seed', 7],
    ['duration', '500ms'],
    ['params', { temperature: 0.5, seed: 7 }],
    ['took', expect.stringMatching(/^0?\.5s$/)],
    ['before', '0s'],
  ])
  const { samples } = parseExposition(gateway.gateway.metrics.render(), 'prometheus')
  const sums = samples.filter(sample => /gen_ai.*_sum$/.test(sample.name))
  const labels = {
    gen_ai_operation_name: 'chat',
    gen_ai_system: 'openai',
    gen_ai_request_model: 'gpt-x',
    gen_ai_response_model: 'gpt-x-2',
    bind: 'bind/3000',
    gateway: 'default/default',
    listener: 'listener0',
    route: 'default/ai',
    route_rule: 'unknown',
  }
  expect(
    sums.map(({ name, labels: { gen_ai_token_type: type, ...rest }, value }) => [name, type, rest, value]),
  ).toEqual([
    ['agentgateway_gen_ai_client_token_usage_sum', 'input', labels, 10],
    ['agentgateway_gen_ai_client_token_usage_sum', 'output', labels, 3],
    ['agentgateway_gen_ai_client_token_usage_sum', 'input_cache_read', labels, 4],
    ['agentgateway_gen_ai_server_request_duration_sum', undefined, labels, 0.5],
  ])
  expect(samples).toContainEqual({
    name: 'agentgateway_upstream_call_duration_seconds_sum',
    labels: { kind: 'Primary', subtype: 'Llm' },
    value: 0.5,
  })
})

test('a stream reports the time to first token and per output token', async () => {
  const clock = new ManualClock()
  const chunk = (choices: unknown[], more: object = {}) =>
    `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'gpt-x', choices, ...more })}\n\n`
  await using upstream = await startUpstream((req, res) => {
    req.resume()
    req.on('end', () => {
      clock.advance(200)
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(chunk([{ index: 0, delta: { content: 'a' } }]), () => {
        setImmediate(() => {
          clock.advance(400)
          const usage = { prompt_tokens: 1, completion_tokens: 4, total_tokens: 5 }
          res.end(`${chunk([], { usage })}data: [DONE]\n\n`)
        })
      })
    })
  })
  const text = `
binds:
- port: 3000
  listeners:
  - routes:
    - backends: [{ai: {name: oa, provider: {openAI: {}}, hostOverride: "${upstream.host}"}}]`
  await using gateway = await startGateway(text, { clock })
  const body = JSON.stringify({ model: 'gpt-x', stream: true, messages: [{ role: 'user', content: 'x' }] })
  await fetch(`${gateway.url(3000)}/v1/chat/completions`, { method: 'POST', body }).then(r => r.text())
  await until(() => gateway.logged.join('').includes('duration='))
  const first = Number(/agw\.ai\.time_to_first_token=([\d.]+)s /.exec(gateway.logged.join(''))?.[1])
  const each = Number(/agw\.ai\.time_per_output_token=([\d.]+)s /.exec(gateway.logged.join(''))?.[1])
  expect(first).toBeGreaterThanOrEqual(0.2)
  expect(first + each * 4).toBeCloseTo(0.6)
  const { samples } = parseExposition(gateway.gateway.metrics.render(), 'prometheus')
  const sum = (name: string) => samples.find(sample => sample.name === `agentgateway_gen_ai_server_${name}_sum`)?.value
  expect(sum('time_to_first_token')).toBeCloseTo(first)
  expect(sum('time_per_output_token')).toBeCloseTo(each)
})

test('a failed call counts as a model error by status', async () => {
  await using upstream = await startUpstream((_req, res) => res.writeHead(429).end('{}'))
  const text = `
binds:
- port: 3000
  listeners:
  - routes:
    - backends: [{ai: {name: oa, provider: {openAI: {}}, hostOverride: "${upstream.host}"}}]`
  await using gateway = await startGateway(text)
  const body = JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content: 'x' }] })
  const answer = await fetch(`${gateway.url(3000)}/v1/chat/completions`, { method: 'POST', body })
  await answer.text()
  const { samples } = parseExposition(gateway.gateway.metrics.render(), 'prometheus')
  const errors = samples.filter(({ name }) => name === 'agentgateway_gen_ai_server_errors_total')
  expect(errors.map(({ labels, value }) => [labels.gen_ai_request_model, labels.status, value])).toEqual([
    ['gpt-x', '429', 1],
  ])
})
