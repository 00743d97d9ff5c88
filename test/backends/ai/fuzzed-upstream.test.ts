import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { writeFrame } from '../../../src/llm/framing/event-stream-frames.ts'
import { startGateway } from '../../helpers/gateway.ts'

const sse = (...events: readonly object[]) =>
  events.map(event => Buffer.from(`event: ${(event as { type?: string }).type}\ndata: ${JSON.stringify(event)}\n\n`))
const chunks = (...choices: readonly object[]) =>
  choices.map(choice => Buffer.from(`data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, ...choice }] })}\n\n`))

/** What each provider sends, event by event, and what says that it is complete. */
const PROVIDERS = {
  anthropic: {
    type: 'text/event-stream',
    end: /message_stop/,
    events: sse(
      { type: 'message_start', message: { id: 'm', model: 'c', usage: { input_tokens: 1, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello wörld' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ),
  },
  openAI: {
    type: 'text/event-stream',
    end: /"finish_reason"\s*:\s*"|\[DONE\]/,
    events: [
      ...chunks(
        { delta: { role: 'assistant', content: 'Hello' }, finish_reason: null },
        { delta: { content: ' wörld' }, finish_reason: null },
        { delta: {}, finish_reason: 'stop' },
      ),
      Buffer.from('data: [DONE]\n\n'),
    ],
  },
  bedrock: {
    type: 'application/vnd.amazon.eventstream',
    end: /messageStop/,
    events: [
      writeFrame('messageStart', '{"role":"assistant"}'),
      writeFrame('contentBlockDelta', '{"contentBlockIndex":0,"delta":{"text":"Hello"}}'),
      writeFrame('messageStop', '{"stopReason":"end_turn"}'),
      writeFrame('metadata', '{"usage":{"inputTokens":4,"outputTokens":2,"totalTokens":6}}'),
    ],
  },
} as const
type Name = keyof typeof PROVIDERS

/** How a server spoils what it sends. */
const spoilt = fc.record({
  order: fc.array(fc.nat(), { maxLength: 8 }),
  edits: fc.array(fc.record({ at: fc.nat(), drop: fc.nat(20), put: fc.uint8Array({ maxLength: 8 }) }), {
    maxLength: 3,
  }),
  cut: fc.option(fc.nat(), { freq: 2 }),
  pieces: fc.integer({ min: 1, max: 64 }),
  chunked: fc.boolean(),
})
type Spoilt = typeof spoilt extends fc.Arbitrary<infer T> ? T : never

function bytesOf(name: Name, { order, edits, cut }: Spoilt): Buffer {
  const { events } = PROVIDERS[name]
  const picked = order.length === 0 ? events : order.map(i => events[i % events.length] as Buffer)
  let bytes = Buffer.concat(picked)
  for (const { at, drop, put } of edits) {
    const place = at % (bytes.length + 1)
    bytes = Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(place + drop)])
  }
  return cut === null ? bytes : bytes.subarray(0, cut % (bytes.length + 1))
}

interface Sent {
  readonly head: string
  readonly body: Buffer
  readonly pieces: number
}

/** Answers each request with the next bytes, and ends the connection. */
async function startRaw(next: () => Sent): Promise<Server> {
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      const { head, body, pieces } = next()
      socket.write(head)
      const size = Math.max(1, Math.ceil(body.length / pieces))
      for (let at = 0; at < body.length; at += size) socket.write(body.subarray(at, at + size))
      socket.end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const CLIENTS = [
  ['/v1/chat/completions', /^data: \[DONE\]$/m],
  ['/v1/messages', /^event: message_stop$/m],
  ['/v1/responses', /^event: response\.completed$/m],
] as const

describe.each(Object.keys(PROVIDERS) as Name[])('a server that sends arbitrary bytes in place of %s', name => {
  test.each(CLIENTS)(
    'never stops the gateway or hangs %s, and a broken reply never ends cleanly',
    async (path, clean) => {
      let now: Sent = { head: '', body: Buffer.alloc(0), pieces: 1 }
      const server = await startRaw(() => now)
      const { port } = server.address() as { port: number }
      await using gateway = await startGateway(
        `llm: {port: 4000, models: [{name: "*", provider: ${name}, params: {baseUrl: "http://127.0.0.1:${port}"}}]}`,
        { env: { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret' } },
      )
      const ask = async () => {
        const reply = await fetch(gateway.url(4000) + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'm',
            max_tokens: 5,
            messages: [{ role: 'user', content: 'Hi' }],
            input: 'Hi',
            stream: true,
          }),
        })
        return reply.text().catch(() => 'broken off')
      }
      await fc.assert(
        fc.asyncProperty(spoilt, async how => {
          const body = bytesOf(name, how)
          const length = how.chunked ? '' : `content-length: ${body.length}\r\n`
          const head = `HTTP/1.1 200 OK\r\ncontent-type: ${PROVIDERS[name].type}\r\n${length}connection: close\r\n\r\n`
          now = { head, body, pieces: how.pieces }
          if (clean.test(await ask())) expect(body.toString('latin1')).toMatch(PROVIDERS[name].end)
        }),
        { numRuns: 30 },
      )
      server.close()
    },
  )
})
