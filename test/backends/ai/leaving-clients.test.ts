import { describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { type OpenAiServer, startOpenAiServer } from '../../helpers/openai-server.ts'
import { startRealtimeServer } from '../../helpers/realtime-server.ts'

const named = (type: string, rest: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const STARTED =
  named('message_start', { message: { id: 'm', role: 'assistant', content: [], model: 'c', usage: {} } }) +
  named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
  named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hi '.repeat(1000) } })

async function guardService() {
  const service = await startOpenAiServer()
  onTestFinished(() => service[Symbol.asyncDispose]())
  service.answer((_req, res) => res.end('{"action":{}}'))
  return service
}

const WAYS: Record<string, (service: OpenAiServer) => string> = {
  'a plain call': () => '',
  'a masked call': () => 'regex: {action: mask, rules: [{pattern: secret}]}',
  'a call that a service checks': ({ port }) => `webhook: {target: {host: "127.0.0.1:${port}"}}`,
}
const PATHS = { 'not converted': '/v1/messages', converted: '/v1/chat/completions' }

// No timer of the gateway fires on this clock: what follows a client's leaving follows at once.
const clock = new ManualClock()

async function leave(way: string, path: string, stream: boolean, arrives: 'nothing' | 'a part') {
  await using upstream = await startOpenAiServer()
  const asked = new Promise<void>(resolve =>
    upstream.answer((_req, res) => {
      if (arrives === 'a part') {
        res.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
        res.write(stream ? STARTED : '{"id":')
      }
      resolve()
    }),
  )
  const guard = (WAYS[way] as (service: OpenAiServer) => string)(await guardService())
  const guards = guard && `, guardrails: {streaming: Enabled, response: [{${guard}}]}`
  await using gateway = await startGateway(
    `llm: {port: 4000, models: [{name: "*", provider: anthropic, params: {baseUrl: "${upstream.url}"}${guards}}]}`,
    { clock },
  )
  const leaving = new AbortController()
  const reply = fetch(gateway.url(4000) + path, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', max_tokens: 9, stream, messages: [{ role: 'user', content: 'Hi' }] }),
    signal: leaving.signal,
  })
  const gone = expect(reply.then(given => given.text())).rejects.toThrow('aborted')
  if (stream && arrives === 'a part') await reply
  else await asked
  leaving.abort()
  await gone
  await upstream.seen[0]?.cutOff
}

describe.each(Object.keys(WAYS))('a client that abandons %s', way => {
  test.each(Object.entries(PATHS))('cancels the provider call, %s', async (_name, path) => {
    await leave(way, path, true, 'nothing')
    await leave(way, path, true, 'a part')
    await leave(way, path, false, 'nothing')
    await leave(way, path, false, 'a part')
  })
})

test('a client that disconnects during a guard call cancels it, and the provider is not called', async () => {
  await using upstream = await startOpenAiServer()
  const service = await guardService()
  const asked = new Promise<void>(resolve => service.answer(() => resolve()))
  await using gateway = await startGateway(
    `llm: {port: 4000, guardrails: {request: [{webhook: {target: {host: "127.0.0.1:${service.port}"}}}]}, models: [{name: "*", provider: openAI, params: {baseUrl: "${upstream.url}"}}]}`,
    { clock },
  )
  const leaving = new AbortController()
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
  const reply = fetch(`${gateway.url(4000)}/v1/chat/completions`, { method: 'POST', body, signal: leaving.signal })
  const gone = expect(reply).rejects.toThrow('aborted')
  await asked
  leaving.abort()
  await gone
  await service.seen[0]?.cutOff
  expect(upstream.seen).toEqual([])
})

test.each(['', ', guardrails: {streaming: Enabled, response: [{regex: {action: mask, rules: [{pattern: x}]}}]}'])(
  'a client that closes its session ends the provider session%s',
  async guards => {
    await using server = await startRealtimeServer()
    await using gateway = await startGateway(
      `llm: {port: 4000, models: [{name: m, provider: openAI, params: {baseUrl: "http://${server.host}/v1"}${guards}}]}`,
      { clock },
    )
    const socket = new WebSocket(`${gateway.url(4000).replace('http', 'ws')}/v1/realtime?model=m`)
    await new Promise(resolve => socket.addEventListener('message', resolve))
    const ended = new Promise(resolve => server.sockets[0]?.on('close', resolve))
    socket.close()
    await ended
  },
)
