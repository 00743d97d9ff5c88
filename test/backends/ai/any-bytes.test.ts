import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { convertReply } from '../../../src/backends/ai/converted-reply.ts'
import { relayReply } from '../../../src/backends/ai/reply.ts'
import type { LlmFacts } from '../../../src/http/exchange.ts'
import { HeaderList } from '../../../src/http/headers.ts'
import { SseReader } from '../../../src/http/sse.ts'
import type { ChunkSink, ResponseHandler } from '../../../src/http/transport.ts'
import type { ChatEvent, ChatFormat } from '../../../src/llm/chat/chat.ts'
import { Conversion } from '../../../src/llm/chat/conversion.ts'
import { CODECS } from '../../../src/llm/formats/codecs.ts'
import { formatOf } from '../../../src/llm/formats/index.ts'
import { writeFrame } from '../../../src/llm/framing/event-stream-frames.ts'

const CLIENTS = ['completions', 'messages', 'responses', 'generateContent'] as const
type Client = (typeof CLIENTS)[number]
const PROVIDERS = [...CLIENTS, 'converse'] as const
const named = { id: 'id_1', model: 'm', created: 1, usage: true }
const clock = { now: () => 0, mono: () => 0, after: () => ({ cancel() {} }) }

/** A reply with what can go wrong in it: text of several bytes, words of the protocol in a text, a tool call. */
const EVENTS: readonly ChatEvent[] = [
  { type: 'start', id: 'r1', model: 'm1' },
  { type: 'open', part: 0, choice: 0, kind: 'text' },
  { type: 'delta', part: 0, text: 'Grüße, 你好 🎉\n\n"finish_reason":"stop" "message_stop"' },
  { type: 'delta', part: 0, text: '\ndata: [DONE]\n\n"response.completed" "finishReason": 1' },
  { type: 'close', part: 0 },
  { type: 'open', part: 1, choice: 0, kind: 'toolCall', id: 'call_1', name: 'look_up' },
  { type: 'delta', part: 1, text: '{"a":' },
  { type: 'delta', part: 1, text: '"ß"}' },
  { type: 'close', part: 1 },
  { type: 'usage', usage: { input: 3, output: 4 } },
  { type: 'stop', choice: 0, reason: 'toolCalls' },
  { type: 'end' },
]

function streamOf(provider: ChatFormat): Buffer {
  const writer = CODECS[provider].events.writer(named)
  const text = EVENTS.map(event => writer.write(event)).join('')
  if (provider !== 'converse') return Buffer.from(text)
  const frames = text.split('\n').filter(Boolean)
  return Buffer.concat(
    frames.map(line => {
      const [[name, value] = ['', {}]] = Object.entries(JSON.parse(line) as object)
      return writeFrame(name, JSON.stringify(value))
    }),
  )
}

interface Heard {
  /** Undefined: it failed before anything was said. */
  text: string | undefined
  ends: number
}

/** What a client gets of a stream that comes in `chunks`. */
function run(provider: ChatFormat, client: Client, chunks: readonly Buffer[], breaksOff = false): Heard {
  const heard: Heard = { text: undefined, ends: 0 }
  const sink: ChunkSink = {
    write(chunk) {
      expect(heard.ends).toBe(0)
      heard.text += chunk.toString('latin1')
      return true
    },
    end: () => void heard.ends++,
    fail: () => void heard.ends++,
    onDrain: () => {},
  }
  const on: ResponseHandler = {
    head() {
      expect(heard).toEqual({ text: undefined, ends: 0 })
      heard.text = ''
      return sink
    },
    fail: () => void heard.ends++,
  }
  const facts: LlmFacts = { provider: 'p', streaming: true, requestModel: 'm' }
  const errors = CODECS[client].errors
  const common = { errors, framed: false, facts, clock, startedAt: 0, cancel() {}, done() {} }
  const handler =
    provider === client
      ? relayReply({ ...common, format: formatOf(client)!, chat: client, patient: true }, on)
      : convertReply({ ...common, conversion: new Conversion(CODECS[client], CODECS[provider]), named }, on)
  const type = provider === 'converse' ? 'application/vnd.amazon.eventstream' : 'text/event-stream'
  const body = handler.head(200, new HeaderList(['content-type', type]))
  for (const chunk of chunks) body.write(Buffer.from(chunk))
  if (breaksOff) body.fail(new Error('reset'))
  else body.end()
  expect(heard.ends).toBe(1)
  return heard
}

/** As a strict client reads it: an event counts with its blank line. */
function read(client: Client, text: string): readonly ChatEvent[] {
  const reader = CODECS[client].events.reader()
  const events: ChatEvent[] = []
  const sse = new SseReader(1 << 20, ({ event, data }) => {
    events.push(...reader.read({ name: event, data: data.toString('utf8') }))
  })
  sse.push(Buffer.from(text, 'latin1'))
  return events
}

const pairs = PROVIDERS.flatMap(provider => CLIENTS.map(client => [provider, client] as const))

describe.each(pairs)('a %s stream for a %s client', { timeout: 60_000 }, (provider, client) => {
  const bytes = streamOf(provider)
  const whole = run(provider, client, [bytes]).text as string
  /** Streams of responses repeat themselves: of their places every fifth will do. */
  const step = bytes.length > 2500 ? 5 : 1

  test('produces the same output for any chunk boundaries', () => {
    expect(read(client, whole).map(({ type }) => type)).not.toContain('error')
    for (let at = 1; at < bytes.length; at += step) {
      expect(run(provider, client, [bytes.subarray(0, at), bytes.subarray(at)]).text).toBe(whole)
    }
    expect(
      run(
        provider,
        client,
        [...bytes].map(byte => Buffer.of(byte)),
      ).text,
    ).toBe(whole)
  })

  test.each([false, true])('never ends cleanly when truncated at any point (reset: %s)', reset => {
    for (let at = 0; at < bytes.length; at += step) {
      const { text } = run(provider, client, [bytes.subarray(0, at)], reset)
      if (text === undefined) continue
      const events = read(client, text)
      const complete = events.some(({ type }) => type === 'stop')
      if (!complete) expect([at, events.at(-1)?.type]).toEqual([at, 'error'])
    }
  })

  test('ends exactly once and never throws when damaged at any point', () => {
    const byte = fc.record({ at: fc.nat(bytes.length - 1), to: fc.nat(255), size: fc.integer({ min: 0, max: 40 }) })
    fc.assert(
      fc.property(fc.array(byte, { minLength: 1, maxLength: 5 }), fc.boolean(), (damage, reset) => {
        let damaged: Buffer = Buffer.from(bytes)
        for (const { at, to, size } of damage) {
          const rest = damaged.subarray(at + size)
          damaged = Buffer.concat([damaged.subarray(0, at), Buffer.alloc(size === 0 ? 1 : size % 7, to), rest])
        }
        run(provider, client, [damaged.subarray(0, damage[0]!.at), damaged.subarray(damage[0]!.at)], reset)
      }),
      { numRuns: 40 },
    )
  })
})
