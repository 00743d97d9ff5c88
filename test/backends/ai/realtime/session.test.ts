import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../../engine/manual-clock.ts'
import { startEnvoyServices } from '../../../helpers/envoy-services.ts'
import { startGateway, type TestGateway } from '../../../helpers/gateway.ts'
import {
  type RealtimeEvent,
  type RealtimeServer,
  spoken,
  startRealtimeServer,
} from '../../../helpers/realtime-server.ts'
import { FrameReader, frame } from '../../../helpers/websocket.ts'

function start(server: RealtimeServer, model = '', section = '', options = {}): Promise<TestGateway> {
  return startGateway(
    `
llm:
  port: 4000
  models: [{name: voice, provider: openAI, params: {baseUrl: "http://${server.host}/v1", model: gpt-realtime}${model}}]
${section}`,
    options,
  )
}

/** A client as browsers have it. */
async function open(gateway: TestGateway, model = 'voice', protocols: string[] = []) {
  const socket = new WebSocket(`${gateway.url(4000).replace('http', 'ws')}/v1/realtime?model=${model}`, protocols)
  onTestFinished(() => socket.close())
  const events: RealtimeEvent[] = []
  const waiting: [test: (event: RealtimeEvent) => boolean, then: (event: RealtimeEvent) => void][] = []
  socket.addEventListener('message', ({ data }) => {
    const event = JSON.parse(String(data)) as RealtimeEvent
    events.push(event)
    for (const [fits, then] of waiting) if (fits(event)) then(event)
  })
  const closed = new Promise<CloseEvent>(resolve => socket.addEventListener('close', resolve))
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  return {
    socket,
    events,
    closed,
    say: (event: object) => socket.send(JSON.stringify(event)),
    until(type: string, count = 1): Promise<unknown> {
      const enough = () => events.filter(event => event.type === type).length >= count
      return enough() ? Promise.resolve() : new Promise(resolve => waiting.push([enough, resolve]))
    },
    texts: (type: string, field = 'delta') =>
      events.filter(event => event.type === type).map(event => event[field] as string),
  }
}

const message = (text: string, more: object = {}) => ({
  type: 'conversation.item.create',
  ...more,
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
})
const MASK = 'guardrails: {request: [{regex: {action: mask, rules: [{pattern: "secret"}]}}]}'
const REJECT =
  'guardrails: {request: [{regex: {action: reject, rules: [{pattern: "secret"}]}, rejection: {body: "not that"}}]}'
const STREAMED = 'guardrails: {streaming: Enabled, response: [{regex: {action: mask, rules: [{pattern: "secret"}]}}]}'

describe('a realtime session', () => {
  test('uses the configured model', async () => {
    await using server = await startRealtimeServer()
    await using gateway = await start(server, ', auth: {key: {value: sk-own}}')
    // As OpenAI's SDK for browsers does.
    const client = await open(gateway, 'voice', ['realtime', 'openai-insecure-api-key.sk-client'])
    client.say({ type: 'response.create' })
    await client.until('response.output_text.done')
    expect(client.texts('response.output_text.done', 'text')).toEqual(['Hello there'])
    expect(server.asked[0]?.url).toBe('/v1/realtime?model=gpt-realtime')
    const { headers } = server.asked[0]!
    expect(headers).not.toHaveProperty('sec-websocket-extensions')
    expect(headers).toMatchObject({ authorization: 'Bearer sk-own', 'sec-websocket-protocol': 'realtime' })
  })

  test('records the usage of all its responses', async () => {
    await using server = await startRealtimeServer()
    const catalog = `config: {modelCatalog: [{inline: {providers: {openai: {models: {gpt-realtime: {rates: {input: "4", cacheRead: "1", output: "16", inputAudio: "32", outputAudio: "64"}}}}}}}]}
frontendPolicies: {accessLog: {add: {in: llm.inputTokens, out: llm.outputTokens, cached: llm.cachedInputTokens, audio: llm.outputAudioTokens, cost: llm.cost.total, by: llm.responseModel}}}`
    await using gateway = await start(server, '', catalog)
    const client = await open(gateway)
    for (const count of [1, 2]) {
      client.say({ type: 'response.create' })
      await client.until('response.done', count)
    }
    client.socket.close()
    await client.closed
    const line = () => gateway.logged.find(each => each.includes('/v1/realtime'))
    await expect.poll(line).toBeDefined()
    // Of 40 tokens 16 were cached and 10 were sound; of 20 said, 8 were.
    const cost = (14 * 4 + 16 * 1 + 10 * 32 + 12 * 16 + 8 * 64) / 1e6
    expect(line()).toMatch(/\bin=40\b.*\bout=20\b.*\bcached=16\b.*\baudio=8\b/)
    expect(line()).toContain(`cost=${cost}`)
    expect(line()).toContain('by=gpt-realtime')
  })

  test('uses the target of a virtual model, and never a model the caller may not use', async () => {
    await using server = await startRealtimeServer()
    await using gateway = await startGateway(`
llm:
  port: 4000
  models:
  - {name: gpt-realtime-mini, provider: openAI, params: {baseUrl: "http://${server.host}/v1"}}
  - {name: closed, provider: openAI, params: {baseUrl: "http://${server.host}/v1"}, authorization: {rules: ["false"]}}
  virtualModels: [{name: any, routing: {weighted: {targets: [{model: gpt-realtime-mini}]}}}]`)
    await (await open(gateway, 'any')).until('session.created')
    expect(server.asked.map(({ url }) => url)).toEqual(['/v1/realtime?model=gpt-realtime-mini'])
    await expect(open(gateway, 'closed')).rejects.toBeDefined()
    await expect(open(gateway, 'unknown')).rejects.toBeDefined()
    expect(server.asked).toHaveLength(1)
  })

  test('ends when its token budget is used up, and a new one is refused until the budget refills', async () => {
    await using server = await startRealtimeServer()
    const clock = new ManualClock()
    const budget = '  policies: {localRateLimit: [{maxTokens: 50, tokensPerFill: 50, fillInterval: 1s, type: tokens}]}'
    await using gateway = await start(server, '', budget, { clock })
    const client = await open(gateway)
    client.say({ type: 'response.create' })
    await client.until('response.done')
    client.say({ type: 'response.create' })
    const { code, reason } = await client.closed
    expect([code, reason]).toEqual([1008, 'rate limit exceeded'])
    expect(client.events.at(-1)).toMatchObject({ type: 'error', error: { code: 'rate_limit_exceeded' } })
    expect(client.events.filter(({ type }) => type === 'response.done')).toHaveLength(2)
    await expect(open(gateway)).rejects.toBeDefined()
    clock.advance(1000)
    const again = await open(gateway)
    await again.until('session.created')
    again.socket.close()
    await again.closed
  })

  test('reports the usage of each response to the rate limit service, and ends when it denies', async () => {
    await using server = await startRealtimeServer()
    await using service = await startEnvoyServices({
      shouldRateLimit: ({ descriptors }) => {
        hits.push(Number(descriptors[0].hitsAddend?.value ?? 0))
        return { overallCode: hits.reduce((sum, each) => sum + each) > 50 ? 2 : 1 }
      },
    })
    const hits: number[] = []
    const budget = `  policies: {remoteRateLimit: {host: '${service.host}', domain: shop, descriptors: [
      {entries: [{key: all, value: '"1"'}], type: tokens}]}}`
    await using gateway = await start(server, '', budget)
    const client = await open(gateway)
    client.say({ type: 'response.create' })
    await client.until('response.done')
    client.say({ type: 'response.create' })
    const { code, reason } = await client.closed
    expect([code, reason]).toEqual([1008, 'rate limit exceeded'])
    await expect(open(gateway)).rejects.toBeDefined()
    expect(hits).toEqual([0, 30, 30, 0])
  })
})

describe('guards in a realtime session', () => {
  test('mask client events', async () => {
    await using server = await startRealtimeServer()
    await using gateway = await start(server, `, ${MASK}`)
    const client = await open(gateway)
    client.say(message('a secret', { event_id: 'e1' }))
    client.say({ type: 'session.update', session: { instructions: 'keep the secret', voice: 'alloy' } })
    client.say({ type: 'response.create', response: { instructions: 'secret', input: [message('secret').item] } })
    client.say({
      type: 'conversation.item.create',
      item: { type: 'function_call_output', call_id: 'c', output: 'a secret' },
    })
    client.say({ type: 'input_audio_buffer.append', audio: 'c2VjcmV0' })
    await expect.poll(() => server.heard.length).toBe(5)
    expect(server.heard).toEqual([
      message('a <masked>', { event_id: 'e1' }),
      { type: 'session.update', session: { instructions: 'keep the <masked>', voice: 'alloy' } },
      { type: 'response.create', response: { instructions: '<masked>', input: [message('<masked>').item] } },
      { type: 'conversation.item.create', item: { type: 'function_call_output', call_id: 'c', output: 'a secret' } },
      { type: 'input_audio_buffer.append', audio: 'c2VjcmV0' },
    ])
  })

  test('reject a client event with an error event, without ending the session', async () => {
    await using server = await startRealtimeServer()
    await using gateway = await start(server, `, ${REJECT}`)
    const client = await open(gateway)
    client.say(message('a secret', { event_id: 'e1' }))
    client.socket.send('not JSON')
    client.say(message('Hi'))
    client.say({ type: 'response.create' })
    await client.until('response.done')
    expect(server.heard.map(({ type }) => type)).toEqual(['conversation.item.create', 'response.create'])
    expect(client.events.filter(({ type }) => type === 'error')).toMatchObject([
      { error: { type: 'guardrail_blocked', code: 'guardrail_intervention', message: 'not that', event_id: 'e1' } },
      { error: { type: 'invalid_request_error' } },
    ])
  })

  test('mask provider text across event boundaries, including events that repeat it', async () => {
    const said = spoken('r', ['a sec', 'ret', ' word'])
    await using server = await startRealtimeServer((_event, send) => said.forEach(send))
    await using gateway = await start(server, `, ${STREAMED}`)
    const client = await open(gateway)
    client.say({ type: 'response.create' })
    await client.until('response.done')
    expect(client.texts('response.output_text.delta').join('')).toBe('a <masked> word')
    expect(client.texts('response.output_text.done', 'text')).toEqual(['a <masked> word'])
    expect(JSON.stringify(client.events)).not.toContain('secret')
    expect(client.events.map(({ type }) => type)).toContain('response.created')
  })

  test('end a response rejected by a webhook, and let the next one pass', async () => {
    let asked = 0
    await using guard = await startGuard(() => (++asked === 1 ? { body: 'no', status_code: 403 } : {}))
    const words = [spoken('r1', ['some', 'thing']), spoken('r2', ['fine'])]
    await using server = await startRealtimeServer((event, send) => {
      if (event.type === 'response.create') words.shift()?.forEach(send)
    })
    const webhook = `guardrails: {streaming: Enabled, response: [{webhook: {target: {host: "${guard.host}"}}}]}`
    await using gateway = await start(server, `, ${webhook}`)
    const client = await open(gateway)
    client.say({ type: 'response.create' })
    await client.until('response.done')
    client.say({ type: 'response.create' })
    await client.until('response.done', 2)
    expect(client.events.find(({ type }) => type === 'error')).toMatchObject({ error: { message: 'no' } })
    expect(client.texts('response.output_text.delta')).toEqual(['fine'])
    expect(client.events.filter(({ type }) => type === 'response.done')).toMatchObject([
      { response: { id: 'r1', status: 'cancelled', output: [] } },
      { response: { id: 'r2', status: 'completed' } },
    ])
    await expect.poll(() => server.heard.map(({ type }) => type)).toContain('response.cancel')
  })

  test('let nothing pass when their webhook is unreachable', async () => {
    await using server = await startRealtimeServer()
    const webhook = 'guardrails: {request: [{webhook: {target: {host: "127.0.0.1:1"}}}]}'
    await using gateway = await start(server, `, ${webhook}`)
    const client = await open(gateway)
    client.say(message('Hi', { event_id: 'e' }))
    await client.until('error')
    expect(client.events.at(-1)).toMatchObject({ error: { code: 'guard_failed', event_id: 'e' } })
    expect(server.heard).toEqual([])
  })
})

async function startGuard(answer: () => object) {
  const { startUpstream } = await import('../../../helpers/upstream.ts')
  return startUpstream((req, res) => {
    req.resume().on('end', () => res.end(JSON.stringify({ action: answer() })))
  })
}

describe('malformed frames', () => {
  const hello = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`

  async function raw(gateway: TestGateway) {
    const socket = connect(gateway.gateway.portOf(4000) as number, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    const frames = new FrameReader()
    const seen: { opcode: number; payload: Buffer }[] = []
    let head = true
    socket.on('data', (chunk: Buffer) => {
      const at = head ? chunk.indexOf('\r\n\r\n') + 4 : 0
      head = false
      seen.push(...frames.read(chunk.subarray(at)))
    })
    socket.write(hello('/v1/realtime?model=voice'))
    await expect.poll(() => seen.length).toBeGreaterThan(0)
    return { socket, seen, closed: once(socket, 'close') }
  }
  const text = (payload: string) => frame(Buffer.from(payload), { opcode: 1, masked: true })
  const first = (byte: number, bytes: Buffer) => Buffer.concat([Buffer.of(byte), bytes.subarray(1)])

  test.each<[string, Buffer, number]>([
    ['without a mask', frame(Buffer.from('{}'), { opcode: 1 }), 1002],
    ['with an extension bit set', first(0xc1, text('{}')), 1002],
    ['with an unknown opcode', first(0x83, text('{}')), 1002],
    ['that fragment a control frame', first(0x09, text('')), 1002],
    ['with an oversized control payload', frame(Buffer.alloc(200), { opcode: 9, masked: true }), 1002],
    ['that continue no message', first(0x80, text('{}')), 1002],
    [
      'with an invalid length',
      Buffer.from([0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]),
      1002,
    ],
    ['with binary data', frame(Buffer.from('{}'), { opcode: 2, masked: true }), 1003],
    ['that are not UTF-8', frame(Buffer.from([0x22, 0xff, 0x22]), { opcode: 1, masked: true }), 1007],
  ])('%s end a session with guards', async (_what, bytes, code) => {
    await using server = await startRealtimeServer()
    await using gateway = await start(server, `, ${MASK}`)
    const { socket, seen, closed } = await raw(gateway)
    socket.write(bytes)
    await closed
    expect(seen.at(-1)?.opcode).toBe(8)
    expect(seen.at(-1)?.payload.readUInt16BE(0)).toBe(code)
    expect(server.heard).toEqual([])
  })

  test('reassembles a message from many frames, byte by byte, with a ping between them', async () => {
    await using server = await startRealtimeServer()
    await using gateway = await start(server, `, ${MASK}`)
    const { socket, seen } = await raw(gateway)
    const body = JSON.stringify(message('a secret ß'))
    const pieces = [
      first(0x01, text(body.slice(0, 60))),
      frame(Buffer.from('hi'), { opcode: 9, masked: true }),
      first(0x80, text(body.slice(60))),
    ]
    for (const byte of Buffer.concat(pieces)) socket.write(Buffer.of(byte))
    await expect.poll(() => server.heard).toEqual([message('a <masked> ß')])
    expect(seen.every(({ opcode }) => opcode !== 8)).toBe(true)
  })

  test('duplicate members are forwarded as the guard read them', async () => {
    await using server = await startRealtimeServer()
    await using gateway = await start(server, `, ${MASK}`)
    const { socket } = await raw(gateway)
    socket.write(
      text('{"type":"conversation.item.create","item":{"role":"user","content":[{"text":"secret"}],"content":[]}}'),
    )
    await expect.poll(() => server.heard.length).toBe(1)
    expect(JSON.stringify(server.heard)).not.toContain('secret')
  })

  test('a dropped provider connection also drops the client connection', async () => {
    await using server = await startRealtimeServer()
    await using gateway = await start(server, `, ${STREAMED}`)
    const client = await open(gateway)
    await client.until('session.created')
    server.sockets[0]?.destroy()
    expect((await client.closed).wasClean).toBe(false)
  })

  test('a dropped client connection ends the provider session', async () => {
    await using server = await startRealtimeServer()
    await using gateway = await start(server, `, ${STREAMED}`)
    const { socket } = await raw(gateway)
    socket.destroy()
    await expect.poll(() => server.sockets[0]?.destroyed).toBe(true)
  })
})
