import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { type OpenAiServer, startOpenAiServer } from '../../helpers/openai-server.ts'

const event = (type: string, rest: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const START = event('message_start', { message: { id: 'm', role: 'assistant', content: [], usage: {} } })
const OPEN = event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
const SAID = (text: string) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
const END = [
  event('content_block_stop', { index: 0 }),
  event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
  event('message_stop'),
].join('')
const OVERLOADED = event('error', { error: { type: 'overloaded_error', message: 'busy' } })

let stalled = false
const WAYS: Record<string, (res: ServerResponse) => void> = {
  ends: res => res.end(),
  'breaks off': res => res.socket?.resetAndDestroy(),
  stalls: () => {
    stalled = true
  },
}
const BEFORE: Record<string, string> = { 'at once': '', 'after its start': START, 'in an empty text': START + OPEN }

const GUARD = '{regex: {action: mask, rules: [{pattern: never}]}}'
const LIMIT = 'timeout: {requestTimeout: 60s, backendRequestTimeout: 5s}'

function groups(bad: OpenAiServer, good: OpenAiServer, guards: string): string {
  const provider = (name: string, { port }: OpenAiServer) =>
    `{providers: [{name: ${name}, provider: {anthropic: {}}, hostOverride: "127.0.0.1:${port}"}]}`
  return `
    - policies: {${LIMIT}}
      matches: [{path: {pathPrefix: /${guards === '' ? 'plain' : 'guarded'}}}]
      backends:
      - ai: {groups: [${provider('one', bad)}, ${provider('two', good)}]}
        policies: {ai: {routes: {/v1/messages: messages, '*': completions}${guards}}}`
}

const clock = new ManualClock()
let bad: OpenAiServer
let good: OpenAiServer
let gateway: TestGateway
let behave: (res: ServerResponse) => void

beforeAll(async () => {
  bad = await startOpenAiServer()
  good = await startOpenAiServer()
  const head = { 'content-type': 'text/event-stream' }
  bad.answer((_req, res) => {
    res.writeHead(200, head).flushHeaders()
    behave(res)
  })
  good.answer((_req, res) => res.writeHead(200, head).end(START + OPEN + SAID('good') + END))
  const model = (name: string, { port }: OpenAiServer) =>
    `{name: ${name}, provider: anthropic, params: {apiKey: k, hostOverride: "127.0.0.1:${port}"}}`
  gateway = await startGateway(
    `binds:
- port: 8080
  listeners:
  - routes:${groups(bad, good, '')}${groups(bad, good, `, promptGuard: {streaming: Enabled, response: [${GUARD}]}`)}
llm:
  port: 8081
  models: [${model('one', bad)}, ${model('two', good)}]
  virtualModels: [{name: v, routing: {failover: {targets: [{model: one, priority: 0}, {model: two, priority: 1}]}}}]
`,
    { clock },
  )
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await bad[Symbol.asyncDispose]()
  await good[Symbol.asyncDispose]()
})

const PLACES = {
  'a group': [8080, '/plain'],
  'a guarded group': [8080, '/guarded'],
  'a virtual model': [8081, ''],
} as const
const CLIENTS = { messages: '/v1/messages', completions: '/v1/chat/completions' } as const

/** The reply as text. Once a provider stalls, and the client has read `after`, time passes. */
async function ask(place: keyof typeof PLACES, client: keyof typeof CLIENTS, after = ''): Promise<string> {
  const [port, prefix] = PLACES[place]
  const body = JSON.stringify({ model: 'v', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'Hi' }] })
  const headers = { 'content-type': 'application/json' }
  let text = ''
  let over = false
  stalled = false
  const reading = (async () => {
    const reply = await fetch(gateway.url(port) + prefix + CLIENTS[client], { method: 'POST', headers, body })
    for await (const chunk of reply.body ?? []) text += Buffer.from(chunk).toString('utf8')
  })().finally(() => {
    over = true
  })
  while (!over) {
    await new Promise(resolve => setTimeout(resolve, 1))
    if (!stalled || !text.includes(after)) continue
    stalled = false
    // The `llm` section sets no limit: there it is ten minutes.
    clock.advance(port === 8081 ? 600_000 : 5_000)
  }
  await reading
  return text
}

describe.each(Object.keys(PLACES) as (keyof typeof PLACES)[])('a stream from the first provider in %s', place => {
  describe.each(Object.keys(CLIENTS) as (keyof typeof CLIENTS)[])('for a %s client', client => {
    test.each(Object.keys(WAYS).flatMap(way => Object.keys(BEFORE).map(when => [way, when] as const)))(
      'that %s %s fails over to the next provider',
      async (way, when) => {
        behave = res => {
          const begin = BEFORE[when] ?? ''
          if (begin === '') WAYS[way]?.(res)
          else res.write(begin, () => WAYS[way]?.(res))
        }
        expect(await ask(place, client)).toContain('good')
      },
    )

    test('that starts with an error also fails over', async () => {
      behave = res => res.end(START + OVERLOADED)
      expect(await ask(place, client)).toContain('good')
    })

    test.each(Object.keys(WAYS))('that has sent content and %s ends with an error', async way => {
      behave = res => res.write(START + OPEN + SAID('half'), () => setTimeout(() => WAYS[way]?.(res), 2))
      const text = await ask(place, client, 'half')
      expect(text).toContain('half')
      expect(text).not.toMatch(/good|\[DONE\]|message_stop/)
      const last = text.trim().split('\n').at(-1) ?? ''
      expect(JSON.parse(last.replace(/^data: /, ''))).toMatchObject({ error: { type: expect.any(String) } })
    })
  })
})

test('a timed-out request gets an error in the client’s format', async () => {
  behave = () => {
    stalled = true
  }
  good.answer(() => clock.advance(60_000))
  const reply = JSON.parse(await ask('a group', 'messages'))
  expect(reply).toEqual({ type: 'error', error: { type: 'timeout_error', message: expect.any(String) } })
})
