import { describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { type OpenAiServer, sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

const CHAT = '/v1/chat/completions'
const chat = (text: string) => ({ model: 'fast', messages: [{ role: 'user', content: text }] })

/** One backend with two providers: the first has policies of its own, the second has none. */
async function start(first: OpenAiServer, second: OpenAiServer, own: string, whole = '', more = '') {
  const provider = (name: string, { port }: OpenAiServer, policies: string) =>
    `{providers: [{name: ${name}, provider: {openAI: {}}, hostOverride: "127.0.0.1:${port}", policies: {${policies}}}]}`
  return startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{backend: /models}]}]}]}]
backends:
- name: models
  ai: {groups: [${provider('one', first, own)}, ${provider('two', second, '')}]}
  policies: {${whole}}
${more}`)
}

async function ask(gateway: TestGateway, body: object, path = CHAT) {
  const reply = await fetch(gateway.url(8080) + path, { method: 'POST', body: JSON.stringify(body) })
  return { status: reply.status, text: await reply.text() }
}

const sent = ({ seen }: OpenAiServer) => seen.map(({ body }) => JSON.parse(body))

describe('the ai policy of a provider', () => {
  test('overrides the backend’s policy field by field', async () => {
    await using first = await startOpenAiServer()
    await using second = await startOpenAiServer()
    first.answer((_req, res) => sendJson(res, 500, {}))
    await using gateway = await start(
      first,
      second,
      'ai: {defaults: {temperature: 0.1}, modelAliases: {fast: small}}',
      `ai: {defaults: {temperature: 0.9, top_p: 0.5}, overrides: {seed: 1},
        promptGuard: {request: [{regex: {action: reject, rules: [{pattern: secret}]}}]}}`,
    )
    expect((await ask(gateway, chat('Hi'))).status).toBe(200)
    expect(sent(first)).toEqual([{ ...chat('Hi'), model: 'small', temperature: 0.1, seed: 1 }])
    expect(sent(second)).toEqual([{ ...chat('Hi'), temperature: 0.9, top_p: 0.5, seed: 1 }])
    expect((await ask(gateway, chat('a secret'))).status).toBe(403)
    expect([first.seen.length, second.seen.length]).toEqual([1, 1])
  })

  test('guards only requests to that provider', async () => {
    await using first = await startOpenAiServer()
    await using second = await startOpenAiServer()
    first.answer((_req, res) => sendJson(res, 500, {}))
    const guard = 'ai: {promptGuard: {request: [{regex: {action: mask, rules: [{pattern: secret}]}}]}}'
    await using gateway = await start(first, second, guard)
    expect((await ask(gateway, chat('a secret'))).status).toBe(200)
    expect(sent(first)).toMatchObject([chat('a <masked>')])
    expect(sent(second)).toMatchObject([chat('a secret')])
  })

  test('selects the request type by path', async () => {
    await using first = await startOpenAiServer()
    await using second = await startOpenAiServer()
    first.answer((_req, res) => sendJson(res, 500, {}))
    await using gateway = await start(first, second, 'ai: {routes: {"*": passthrough}}', 'ai: {overrides: {seed: 1}}')
    expect((await ask(gateway, chat('Hi'))).status).toBe(200)
    expect([...sent(first), ...sent(second)]).toEqual([chat('Hi'), { ...chat('Hi'), seed: 1 }])
  })

  test('can target the provider by name', async () => {
    await using first = await startOpenAiServer()
    await using second = await startOpenAiServer()
    const aimed = `
policies:
- name: {name: aimed, namespace: default}
  target: {backend: {backend: {name: models, namespace: "", section: one}}}
  policy: {ai: {overrides: {seed: 7}}}`
    await using gateway = await start(first, second, '', '', aimed)
    await ask(gateway, chat('Hi'))
    expect(sent(first)).toEqual([{ ...chat('Hi'), seed: 7 }])
  })
})

test('the health policy of a provider decides when it is evicted', async () => {
  await using first = await startOpenAiServer()
  await using second = await startOpenAiServer()
  first.answer((_req, res) => sendJson(res, 404, {}))
  const rules =
    'health: {unhealthyExpression: "response.code == 404", eviction: {duration: 1h, consecutiveFailures: 2}}'
  await using gateway = await start(first, second, rules)
  for (let i = 0; i < 4; i++) expect((await ask(gateway, chat('Hi'))).status).toBe(200)
  expect([first.seen.length, second.seen.length]).toEqual([2, 4])
})
