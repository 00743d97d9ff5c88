import { describe, expect, test } from 'vitest'
import { aiBackend } from '../../../src/backends/ai/index.ts'
import { EndpointHealth } from '../../../src/backends/endpoint-health.ts'
import type { Finding } from '../../../src/diagnostics/diagnostic.ts'
import { ai } from '../../../src/policies/ai.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { type OpenAiServer, sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'
import { decoded, type Gateway, serve, testContext, testRuntime, tryDecode } from './gateway.ts'

async function gatewayOf(spec: object, policy?: object): Promise<Gateway> {
  const runtime = testRuntime()
  const ctx = testContext(runtime)
  const hooks = policy && ai.compile(decoded(ai.schema, policy), ctx)
  const settings = { ...ctx.settings, ...hooks?.upstream }
  return serve(aiBackend.compile(decoded(aiBackend.schema, spec), { ...ctx, settings }), runtime)
}

const at = (upstream: OpenAiServer, name: string, provider: object = { openAI: {} }) => ({
  name,
  provider,
  hostOverride: `127.0.0.1:${upstream.port}`,
})

function post(gateway: Gateway, path: string, body: object): Promise<Response> {
  return fetch(gateway.url + path, { method: 'POST', body: JSON.stringify(body) })
}

const CHAT = '/v1/chat/completions'

describe('provider groups', () => {
  test('are tried in order on failure', async () => {
    await using broken = await startOpenAiServer()
    await using good = await startOpenAiServer()
    broken.answer((_req, res) => sendJson(res, 500, { error: { message: 'broken' } }))
    await using gateway = await gatewayOf({
      groups: [{ providers: [at(broken, 'one')] }, { providers: [at(good, 'two', { openAI: { model: 'other' } })] }],
    })
    const reply = await post(gateway, CHAT, { model: 'gpt-4o', messages: [] })
    expect(reply.status).toBe(200)
    expect(JSON.parse(broken.seen[0]?.body ?? '')).toEqual({ model: 'gpt-4o', messages: [] })
    expect(JSON.parse(good.seen[0]?.body ?? '')).toEqual({ model: 'other', messages: [] })
  })

  test('are not retried for client errors', async () => {
    await using first = await startOpenAiServer()
    await using second = await startOpenAiServer()
    first.answer((_req, res) => sendJson(res, 400, { error: { message: 'no' } }))
    await using gateway = await gatewayOf({
      groups: [{ providers: [at(first, 'one')] }, { providers: [at(second, 'two')] }],
    })
    expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(400)
    expect(second.seen).toHaveLength(0)
  })

  test('do not count a call as in flight after its client disconnects', async () => {
    await using silent = await startOpenAiServer()
    const asked = new Promise<void>(resolve => silent.answer(() => resolve()))
    const runtime = testRuntime()
    const spec = decoded(aiBackend.schema, { groups: [{ providers: [at(silent, 'one'), at(silent, 'two')] }] })
    await using gateway = await serve(aiBackend.compile(spec, testContext(runtime)), runtime)
    const leaving = new AbortController()
    const body = JSON.stringify({ model: 'm' })
    const reply = fetch(gateway.url + CHAT, { method: 'POST', body, signal: leaving.signal })
    await asked
    const under = (name: string) =>
      runtime.state.get(`endpoint provider:${name}`, () => new EndpointHealth()).facts(name, runtime.clock).pending
    expect(under('one') + under('two')).toBe(1)
    leaving.abort()
    await expect(reply).rejects.toThrow()
    await expect.poll(() => under('one') + under('two')).toBe(0)
  })

  test('prefer the healthy provider among equals', async () => {
    await using broken = await startOpenAiServer()
    await using good = await startOpenAiServer()
    broken.answer((_req, res) => sendJson(res, 503, { error: { message: 'broken' } }))
    const draws = [0, 0.9]
    const runtime = { ...testRuntime(), random: () => draws[Math.random() < 0.5 ? 0 : 1] as number }
    const spec = { groups: [{ providers: [at(broken, 'one'), at(good, 'two')] }] }
    const backend = aiBackend.compile(decoded(aiBackend.schema, spec), testContext(runtime))
    await using gateway = await serve(backend, runtime)
    for (let i = 0; i < 20; i++) expect((await post(gateway, CHAT, { model: 'm' })).status).toBe(200)
    expect(good.seen).toHaveLength(20)
    expect(broken.seen.length).toBeLessThan(20)
  })

  test.each([
    ['no provider', {}, 'GW107'],
    ['both provider and groups', { provider: { openAI: {} }, groups: [{ providers: [] }] }, 'GW108'],
    ['two kinds of provider', { provider: { openAI: {}, anthropic: {} } }, 'GW108'],
    [
      'nine groups',
      { groups: Array.from({ length: 9 }, (_, i) => ({ providers: [{ name: `p${i}`, provider: { openAI: {} } }] })) },
      'GW109',
    ],
    [
      'a duplicate name',
      { groups: [0, 1].map(() => ({ providers: [{ name: 'p', provider: { openAI: {} } }] })) },
      'GW111',
    ],
    ['Vertex AI without a project', { provider: { vertex: {} } }, 'GW103'],
    ['Azure without a resource', { provider: { azure: { resourceType: 'openAI' } } }, 'GW103'],
  ])('with %s are invalid', (_name, spec, code) => {
    const findings: Finding[] = []
    tryDecode(aiBackend.schema, spec, findings)
    expect(findings.map(finding => finding.code)).toContain(code)
  })
})

test('session affinity keeps a user on one provider of a group, and fails over when it fails', async () => {
  await using one = await startOpenAiServer()
  await using other = await startOpenAiServer()
  const entry = (name: string, server: OpenAiServer) =>
    `{name: ${name}, provider: {openAI: {}}, hostOverride: "127.0.0.1:${server.port}"}`
  await using gateway = await startGateway(`binds:
- port: 8080
  listeners:
  - routes:
    - backends:
      - ai: {groups: [{providers: [${entry('one', one)}, ${entry('other', other)}]}]}
        policies: {sessionAffinity: {source: 'request.headers["x-user"]'}}
`)
  const ask = (user: string) =>
    fetch(`${gateway.url(8080)}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-user': user },
      body: '{"model":"m","messages":[]}',
    })
  const before = () => [one.seen.length, other.seen.length]
  const places = new Map<string, number>()
  for (const user of ['ann', 'bob', 'cid', 'dan', 'eve', 'fay', 'gus', 'hal']) {
    for (let times = 0; times < 3; times++) {
      const [was = 0] = before()
      expect((await ask(user)).status).toBe(200)
      const place = before()[0] === was ? 1 : 0
      expect(places.get(user) ?? place).toBe(place)
      places.set(user, place)
    }
  }
  expect(new Set(places.values())).toEqual(new Set([0, 1]))
  one.answer((_req, res) => sendJson(res, 500, { error: { message: 'no' } }))
  const [moved] = [...places].find(([, place]) => place === 0) as [string, number]
  expect((await ask(moved)).status).toBe(200)
})

describe('the ai policy', () => {
  test('sets fields, resolves aliases and adds prompts', async () => {
    await using upstream = await startOpenAiServer()
    await using gateway = await gatewayOf(at(upstream, 'one'), {
      defaults: { temperature: 0.2, top_p: 0.5 },
      overrides: { max_tokens: 100 },
      transformations: { n: 'llmRequest.n + 1' },
      modelAliases: { fast: 'exact', 'fa*': 'short', 'fas*-x': 'long', '*': 'any' },
      prompts: { prepend: [{ role: 'system', content: 'Be brief.' }], append: [{ role: 'user', content: 'Thanks.' }] },
    })
    const messages = [{ role: 'user', content: 'Hello' }]
    for (const model of ['fast', 'fasting-x', 'fable', 'slow']) {
      await post(gateway, CHAT, { model, temperature: 0.9, max_tokens: 7, n: 1, messages })
    }
    const sent = upstream.seen.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
    expect(sent.map(({ model }) => model)).toEqual(['exact', 'long', 'short', 'any'])
    expect(sent[0]).toEqual({
      model: 'exact',
      temperature: 0.9,
      top_p: 0.5,
      max_tokens: 100,
      n: 2,
      messages: [{ role: 'system', content: 'Be brief.' }, ...messages, { role: 'user', content: 'Thanks.' }],
    })
  })

  test('puts system prompts where the messages format has them', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => sendJson(res, 200, { type: 'message' }))
    await using gateway = await gatewayOf(at(upstream, 'one', { anthropic: {} }), {
      routes: { '/v1/messages': 'messages' },
      prompts: {
        prepend: [
          { role: 'system', content: 'First.' },
          { role: 'user', content: 'Before.' },
        ],
      },
    })
    await post(gateway, '/v1/messages', {
      model: 'claude',
      system: 'Own.',
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect(JSON.parse(upstream.seen[0]?.body ?? '')).toEqual({
      model: 'claude',
      system: [
        { type: 'text', text: 'First.' },
        { type: 'text', text: 'Own.' },
      ],
      messages: [
        { role: 'user', content: 'Before.' },
        { role: 'user', content: 'Hi' },
      ],
    })
  })

  test('selects the request type by path', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((req, res, body) => {
      res.writeHead(200, { 'content-type': 'text/plain' }).end(`${req.method} ${req.url} got ${body}`)
    })
    await using gateway = await gatewayOf(at(upstream, 'one'), {
      routes: { '/v1/models': 'models', '/v1/audio/speech': 'passthrough', '*': 'completions' },
    })
    const raw = await fetch(`${gateway.url}/v1/audio/speech`, { method: 'POST', body: 'not JSON' })
    expect(await raw.text()).toBe('POST /v1/audio/speech got not JSON')
    const models = await fetch(`${gateway.url}/v1/models`)
    expect([models.status, await models.text()]).toEqual([200, 'GET /v1/models got '])
  })

  test('records usage from replies that are only inspected, leaving them unchanged', async () => {
    await using upstream = await startOpenAiServer()
    const json = '{"model":"img","data":[],"usage":{"input_tokens":5,"output_tokens":6,"total_tokens":11}}'
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(json)
    })
    await using gateway = await gatewayOf(at(upstream, 'one'), { routes: { '*': 'detect' } })
    const over = gateway.next()
    expect(await (await post(gateway, '/v1/images/generations', { model: 'img' })).text()).toBe(json)
    expect((await over).llm).toMatchObject({ responseModel: 'img', inputTokens: 5, outputTokens: 6, totalTokens: 11 })
  })
})
