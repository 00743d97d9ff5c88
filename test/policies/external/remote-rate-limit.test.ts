import { expect, test } from 'vitest'
import { ManualClock } from '../../engine/manual-clock.ts'
import { type Answer, type Plain, startEnvoyServices } from '../../helpers/envoy-services.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'
import { echo, sendRepeated, startUpstream } from '../../helpers/upstream.ts'

const OK = { overallCode: 1 }
const OVER = { overallCode: 2 }
const BY_USER = `{entries: [{key: user, value: 'request.headers["x-user"]'}]}`

async function start(answer: (request: Plain) => Answer, descriptors = BY_USER, spec = '', more = '', options = {}) {
  const service = await startEnvoyServices({ shouldRateLimit: answer })
  const backend = await startUpstream(echo)
  const gateway = await startGateway(
    `
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}], policies: {
  remoteRateLimit: {host: '${service.host}', domain: shop, descriptors: [${descriptors}]${spec && `, ${spec}`}}${more && `, ${more}`}}}]}]}]`,
    options,
  )
  const url = gateway.url(8080)
  return {
    service,
    url,
    fetch: (user?: string, init: RequestInit = {}) =>
      fetch(url, { ...init, headers: user === undefined ? {} : { 'x-user': user } }),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await backend[Symbol.asyncDispose]()
    },
  }
}

const entry = (key: string, value: string) => ({ entries: [{ key, value }] })

test('all descriptors of a request are sent in one call', async () => {
  await using at = await start(
    () => OK,
    `${BY_USER}, {entries: [{key: path, value: request.path}, {key: n, value: '1 + 1'}, {key: b, value: 'true'}]},
     {entries: [{key: all, value: '"1"'}], cost: '2.6', limitOverride: '{"unit": "Minute", "requestsPerUnit": 7}'},
     {entries: [{key: absent, value: 'request.headers["x-no"]'}]}, {entries: [{key: cheap, value: '"1"'}], cost: 'jwt.cost'},
     {entries: [{key: tokens, value: '"1"'}], type: tokens}`,
  )
  expect((await at.fetch('ann')).status).toBe(200)
  expect(at.service.asked).toEqual([
    {
      domain: 'shop',
      descriptors: [
        entry('user', 'ann'),
        {
          entries: [
            { key: 'path', value: '/' },
            { key: 'n', value: '2' },
            { key: 'b', value: 'true' },
          ],
        },
        { ...entry('all', '1'), limit: { requestsPerUnit: 7, unit: 2 }, hitsAddend: { value: 3 } },
      ],
    },
  ])
})

test('the service is not called without descriptors', async () => {
  await using at = await start(() => OVER)
  expect((await at.fetch()).status).toBe(200)
  expect(at.service.asked).toEqual([])
})

test('headers from the service are added to request and response', async () => {
  await using at = await start(() => ({
    ...OK,
    statuses: [
      {
        code: 1,
        currentLimit: { requestsPerUnit: 10, unit: 2 },
        limitRemaining: 9,
        durationUntilReset: { seconds: 12 },
      },
      {
        code: 1,
        currentLimit: { requestsPerUnit: 5, unit: 3 },
        limitRemaining: 2,
        durationUntilReset: { seconds: 30 },
      },
      { code: 1, limitRemaining: 1 },
    ],
    requestHeadersToAdd: [
      { key: 'x-user', value: 'counted' },
      { key: 'content-length', value: '7' },
    ],
    responseHeadersToAdd: [
      { key: 'x-ext', value: 'a' },
      { key: 'x-ratelimit-reset', value: '31' },
      { key: 'x-bad', value: 'a\r\nb: c' },
    ],
  }))
  const response = await at.fetch('ann')
  const { headers } = response
  expect(['limit', 'remaining', 'reset'].map(name => headers.get(`x-ratelimit-${name}`))).toEqual(['5', '2', '31'])
  expect([headers.get('x-ext'), headers.get('x-bad'), headers.get('b')]).toEqual(['a', null, null])
  const { headers: got } = (await response.json()) as { headers: string[] }
  expect(got.filter((_, i) => got[i - 1] === 'x-user')).toEqual(['counted'])
})

test.each<[string, Plain, string]>([
  ['a limit that is reached', OVER, 'rate limit exceeded'],
  ['a limit with a custom body', { ...OVER, rawBody: Buffer.from('slow down') }, 'slow down'],
  ['an empty response', {}, 'rate limit exceeded'],
  ['an unknown code', { overallCode: 9 }, 'rate limit exceeded'],
])('%s: 429', async (_, answer, body) => {
  await using at = await start(
    () => ({
      ...answer,
      statuses: [{ currentLimit: { requestsPerUnit: 5 }, durationUntilReset: { seconds: 3 } }],
      responseHeadersToAdd: [{ key: 'x-ext-ratelimited', value: 'true' }],
    }),
    BY_USER,
    'failureMode: failOpen',
  )
  const response = await at.fetch('ann')
  expect(response.status).toBe(429)
  expect(await response.text()).toBe(body)
  expect(response.headers.get('x-ext-ratelimited')).toBe('true')
  expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
})

test.each([
  ['failClosed', { code: 14, details: 'down' }, 500],
  ['failOpen', { code: 14, details: 'down' }, 200],
  ['failOpen', { code: 3, details: 'what?' }, 500],
  ['failOpen', Buffer.from([0xff]), 500],
])('%s with a service response of %j: %i', async (mode, answer, status) => {
  await using at = await start(() => answer, BY_USER, `failureMode: ${mode}`)
  const response = await at.fetch('ann')
  expect(response.status).toBe(status)
  if (status === 500) expect(await response.text()).toBe('rate limit failed')
})

test('a hung service times out after two seconds', async () => {
  const clock = new ManualClock()
  const asked = Promise.withResolvers<void>()
  await using at = await start(() => asked.resolve(), BY_USER, '', '', { clock })
  const response = at.fetch('ann')
  await asked.promise
  clock.advance(2000)
  expect((await response).status).toBe(500)
})

test('client input cannot bypass the limit', async () => {
  await using at = await start(() => OK, BY_USER, 'failureMode: failOpen')
  expect(await sendRepeated(at.url, { 'x-user': ['ann', 'ben'] })).toBe(403)
  await using other = await start(
    () => OK,
    `{entries: [{key: a, value: 'json(request.body).a'}]}`,
    'failureMode: failOpen',
  )
  const send = async (body: string) => (await other.fetch('ann', { method: 'POST', body })).status
  expect([await send('{"a": '), await send('{"a": [1]}'), await send('{"a": 1}'), await send('{}')]).toEqual([
    403, 403, 200, 200,
  ])
  expect(other.service.asked.length).toBe(1)
})

test('conditions select the limit', async () => {
  await using service = await startEnvoyServices({ shouldRateLimit: () => OVER })
  await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{policies: {directResponse: {status: 200}, remoteRateLimit: {conditional: [
  {condition: 'request.path == "/slow"', host: '${service.host}', domain: d, descriptors: [{entries: [{key: a, value: '"b"'}]}]}]}}}]}]}]`)
  expect((await fetch(`${gateway.url(8080)}/slow`)).status).toBe(429)
  expect((await fetch(`${gateway.url(8080)}/fast`)).status).toBe(200)
})

test('token limits are checked before a model call, and used tokens are reported after it', async () => {
  let left = true
  await using service = await startEnvoyServices({ shouldRateLimit: () => (left ? OK : OVER) })
  await using model = await startOpenAiServer()
  model.answer((_req, res) =>
    sendJson(res, 200, {
      choices: [{ message: { role: 'assistant', content: 'hi' } }],
      usage: { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 },
    }),
  )
  await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{
  backends: [{ai: {provider: {openAI: {}}, hostOverride: '127.0.0.1:${model.port}'}}],
  policies: {remoteRateLimit: {host: '${service.host}', domain: d, descriptors: [
    {entries: [{key: a, value: '"b"'}]}, {entries: [{key: t, value: '"u"'}], type: tokens},
    {entries: [{key: c, value: '"d"'}], type: tokens, cost: llm.outputTokens * 100}]}}}]}]}]`)
  const ask = async () =>
    (
      await fetch(`${gateway.url(8080)}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
      })
    ).status
  expect(await ask()).toBe(200)
  await expect.poll(() => service.asked.length).toBe(2)
  const hits = service.asked.map(({ descriptors }) =>
    descriptors.map((each: Plain) => Number(each.hitsAddend?.value ?? (each.hitsAddend ? 0 : 1))),
  )
  expect(hits).toEqual([
    [1, 0, 0],
    [10, 600],
  ])
  left = false
  expect(await ask()).toBe(429)
})
