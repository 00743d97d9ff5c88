import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../../helpers/gateway.ts'
import { completionEvents, startOpenAiServer } from '../../helpers/openai-server.ts'

const CHAT = '/v1/chat/completions'
const body = (model: string): string => JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] })

describe('model policies', () => {
  test('apply to its own calls only', async () => {
    await using upstream = await startOpenAiServer()
    await using engine = await startGateway(`
llm:
  port: 4000
  providers:
    - name: house
      provider: openAI
      params: { baseUrl: "${upstream.url}" }
      defaults:
        requestHeaders: { set: { x-entry: from-entry } }
        responseHeaders: { set: { x-by: entry } }
  models:
    - name: keyed
      provider: openAI
      params: { baseUrl: "${upstream.url}" }
      auth: { key: { value: sk-model, location: { header: { name: api-key } } } }
      requestHeaders: { set: { x-model: keyed }, remove: [x-client] }
      responseHeaders: { add: { x-by: keyed } }
    - name: referring
      provider: { reference: house }
`)
    const headers = { 'x-client': 'yes' }
    const post = (model: string) => fetch(engine.url(4000) + CHAT, { method: 'POST', body: body(model), headers })
    expect((await post('keyed')).headers.get('x-by')).toBe('keyed')
    expect((await post('referring')).headers.get('x-by')).toBe('entry')
    const [keyed, referring] = upstream.seen.map(request => request.headers)
    expect(keyed).toMatchObject({ 'api-key': 'sk-model', 'x-model': 'keyed' })
    expect(keyed).not.toHaveProperty('x-client')
    expect(referring).toMatchObject({ 'x-entry': 'from-entry', 'x-client': 'yes' })
    expect(referring).not.toHaveProperty('x-model')
  })

  test('start afresh for the next model after a failure', async () => {
    await using upstream = await startOpenAiServer()
    await using engine = await startGateway(`
llm:
  port: 4000
  models:
    - name: first
      visibility: internal
      provider: openAI
      params: { baseUrl: "http://127.0.0.1:1" }
      requestHeaders: { set: { x-first: "1" } }
    - name: second
      visibility: internal
      provider: openAI
      params: { baseUrl: "${upstream.url}" }
      requestHeaders: { set: { x-second: "2" } }
  virtualModels:
    - name: v
      routing: { failover: { targets: [{ model: first, priority: 0 }, { model: second, priority: 1 }] } }
`)
    const reply = await fetch(engine.url(4000) + CHAT, { method: 'POST', body: body('v') })
    expect(reply.status).toBe(200)
    expect(upstream.seen[0]?.headers).toMatchObject({ 'x-second': '2' })
    expect(upstream.seen[0]?.headers).not.toHaveProperty('x-first')
  })

  test('decide who may use it, and hide it from everyone else', async () => {
    await using upstream = await startOpenAiServer()
    await using engine = await startGateway(`
llm:
  port: 4000
  models:
    - name: open
      provider: openAI
      params: { baseUrl: "${upstream.url}" }
    - name: closed
      provider: openAI
      params: { baseUrl: "${upstream.url}" }
      authorization: { rules: ['request.headers["x-team"] == "ml"'] }
  virtualModels:
    - name: one
      routing: { weighted: { targets: [{ model: closed }] } }
    - name: first
      routing: { failover: { targets: [{ model: closed, priority: 0 }, { model: open, priority: 1 }] } }
`)
    const post = (headers: Record<string, string>) =>
      fetch(engine.url(4000) + CHAT, { method: 'POST', body: body('closed'), headers })
    const denied = await post({})
    const unknown = await fetch(engine.url(4000) + CHAT, { method: 'POST', body: body('nobody') })
    expect(denied.status).toBe(404)
    expect(await denied.text()).toBe(await unknown.text())
    for (const [name, status] of [
      ['one', 404],
      ['first', 200],
    ] as const) {
      const virtual = await fetch(engine.url(4000) + CHAT, { method: 'POST', body: body(name) })
      expect([name, virtual.status]).toEqual([name, status])
    }
    expect((await post({ 'x-team': 'ml' })).status).toBe(200)
    const client = new OpenAI({ baseURL: `${engine.url(4000)}/v1`, apiKey: 'x' })
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['open', 'first'])
  })
})

describe('the engine', () => {
  test('cancels the upstream call when a client disconnects mid-stream', async () => {
    await using upstream = await startOpenAiServer()
    upstream.answer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(completionEvents('m', false)[0])
    })
    await using engine = await startGateway(`
llm:
  port: 4000
  models: [{ name: "*", provider: openAI, params: { baseUrl: "${upstream.url}" } }]
`)
    const client = new OpenAI({ baseURL: `${engine.url(4000)}/v1`, apiKey: 'x', maxRetries: 0 })
    const stream = await client.chat.completions.create({ model: 'm', messages: [], stream: true })
    await stream[Symbol.asyncIterator]().next()
    stream.controller.abort()
    await upstream.seen[0]?.cutOff
  })

  test('serves a route’s provider with its own key and policy', async () => {
    await using upstream = await startOpenAiServer()
    await using engine = await startGateway(`
binds:
  - port: 8080
    listeners:
      - routes:
          - matches: [{ path: { pathPrefix: /openai } }]
            policies: { urlRewrite: { path: { prefix: / } }, ai: { modelAliases: { fast: gpt-4o-mini } } }
            backends:
              - ai:
                  name: openai
                  provider: { openAI: {} }
                  hostOverride: 127.0.0.1:${upstream.port}
                  policies: { backendAuth: { key: sk-provider } }
`)
    const reply = await fetch(`${engine.url(8080)}/openai${CHAT}`, {
      method: 'POST',
      body: body('fast'),
      headers: { authorization: 'Bearer client' },
    })
    expect(reply.status).toBe(200)
    const [seen] = upstream.seen
    expect([
      seen?.path,
      seen?.headers.authorization,
      (JSON.parse(seen?.body ?? '') as { model: string }).model,
    ]).toEqual([CHAT, 'Bearer sk-provider', 'gpt-4o-mini'])
  })
})
