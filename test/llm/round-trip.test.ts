import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CHAT_FORMATS, type ChatEvent, type ChatFormat, type ChatReply, type Part } from '../../src/llm/chat/chat.ts'
import type { RawEvent } from '../../src/llm/chat/codec.ts'
import { Conversion } from '../../src/llm/chat/conversion.ts'
import { Losses } from '../../src/llm/chat/losses.ts'
import { CODECS } from '../../src/llm/formats/codecs.ts'

const facts = { id: 'id_1', model: 'm', created: 1, usage: true }

const word = fc
  .string({ minLength: 1, maxLength: 12, unit: 'binary' })
  .filter(text => text.trim() !== '' && text.isWellFormed())
const call = fc.record({
  id: fc.uuid(),
  name: fc.stringMatching(/^[a-z][a-z0-9_]{0,10}$/),
  args: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.oneof(fc.integer(), fc.boolean(), word), { maxKeys: 3 }),
})
const anyReply = fc
  .record({
    thought: fc.option(
      fc.record({ text: word, signature: fc.option(fc.base64String({ minLength: 4, maxLength: 12 })) }),
    ),
    texts: fc.array(word, { maxLength: 1 }),
    calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
    long: fc.boolean(),
    usage: fc.record({ fresh: fc.nat(999), cacheRead: fc.nat(99), output: fc.nat(999) }),
  })
  .filter(({ texts, calls }) => texts.length + calls.length > 0)
type Made = typeof anyReply extends fc.Arbitrary<infer T> ? T : never

function replyOf({ thought, texts, calls, long, usage }: Made): ChatReply {
  const parts: Part[] = []
  if (thought) {
    const signature = thought.signature === null ? {} : { signature: thought.signature }
    parts.push({ kind: 'reasoning', text: thought.text, at: '', ...signature })
  }
  for (const text of texts) parts.push({ kind: 'text', text, at: '' })
  for (const { id, name, args } of calls) {
    parts.push({ kind: 'toolCall', id, name, arguments: JSON.stringify(args), at: '' })
  }
  const { fresh, cacheRead, output } = usage
  return {
    id: 'r1',
    model: 'm1',
    choices: [{ parts, stop: long ? 'length' : calls.length > 0 ? 'toolCalls' : 'end' }],
    usage: { input: fresh + cacheRead, output, cacheRead },
  }
}

/** What every format can say of a reply; some carry signatures in ids. */
function essence({ choices, usage }: ChatReply) {
  const [choice] = choices
  const parts = choice?.parts ?? []
  const text = (kind: Part['kind']) =>
    parts.map(part => (part.kind === kind && 'text' in part ? part.text : '')).join('')
  const calls = parts.flatMap(part =>
    part.kind === 'toolCall'
      ? [{ id: part.id.replace(/__thought__.*/, ''), name: part.name, args: JSON.parse(part.arguments) }]
      : [],
  )
  return {
    reasoning: text('reasoning'),
    text: text('text'),
    calls,
    stop: choice?.stop,
    input: usage?.input,
    output: usage?.output,
  }
}

function eventsOf(reply: ChatReply): ChatEvent[] {
  const [choice] = reply.choices
  const events: ChatEvent[] = [{ type: 'start', id: 'r1', model: 'm1' }]
  for (const [part, each] of (choice?.parts ?? []).entries()) {
    if (each.kind === 'toolCall') {
      events.push({ type: 'open', part, choice: 0, kind: 'toolCall', id: each.id, name: each.name })
      events.push(
        { type: 'delta', part, text: each.arguments.slice(0, 3) },
        { type: 'delta', part, text: each.arguments.slice(3) },
      )
    } else if (each.kind === 'text' || each.kind === 'reasoning') {
      events.push({ type: 'open', part, choice: 0, kind: each.kind }, { type: 'delta', part, text: each.text })
      if (each.signature) events.push({ type: 'signature', part, signature: each.signature })
    }
    events.push({ type: 'close', part })
  }
  events.push(
    { type: 'usage', usage: reply.usage ?? {} },
    { type: 'stop', choice: 0, reason: choice?.stop ?? 'end' },
    { type: 'end' },
  )
  return events
}

/** Puts the pieces of a stream together again. */
function collect(events: readonly ChatEvent[]): ChatReply & { readonly end: string | undefined } {
  const parts = new Map<number, { kind: 'text' | 'reasoning' | 'toolCall'; text: string; id: string; name: string }>()
  let stop: ChatReply['choices'][0]['stop'] = 'other'
  let usage = {}
  for (const event of events) {
    if (event.type === 'open') {
      const kind = event.kind === 'toolCall' || event.kind === 'reasoning' ? event.kind : 'text'
      parts.set(event.part, { kind, text: '', id: event.id ?? '', name: event.name ?? '' })
    } else if (event.type === 'delta') {
      const part = parts.get(event.part)
      if (part) part.text += event.text
    } else if (event.type === 'stop') stop = event.reason
    else if (event.type === 'usage') usage = event.usage
  }
  const list = [...parts.values()].map<Part>(({ kind, text, id, name }) =>
    kind === 'toolCall' ? { kind, id, name, arguments: text, at: '' } : { kind, text, at: '' },
  )
  return { choices: [{ parts: list, stop }], usage, end: events.at(-1)?.type }
}

/** The events of a stream's text, as its framing parts them. */
function rawEvents(format: ChatFormat, text: string): RawEvent[] {
  if (format === 'converse') {
    return text
      .split('\n')
      .filter(Boolean)
      .map(line => {
        const [[name, value] = ['', {}]] = Object.entries(JSON.parse(line) as object)
        return { name, data: JSON.stringify(value) }
      })
  }
  return text
    .split('\n\n')
    .filter(Boolean)
    .map(event => ({ data: event.slice(event.indexOf('data: ') + 6) }))
}

function read(format: ChatFormat, raw: readonly RawEvent[]): ChatEvent[] {
  const reader = CODECS[format].events.reader()
  return [...raw.flatMap(event => [...reader.read(event)]), ...reader.end()]
}

function write(format: ChatFormat, events: readonly ChatEvent[]): string {
  const writer = CODECS[format].events.writer(facts)
  return events.map(event => writer.write(event)).join('')
}

const pairs = CHAT_FORMATS.flatMap(from => CHAT_FORMATS.map(to => [from, to] as const))

describe('round trip', () => {
  test.each(pairs)('a complete response from %s survives as %s', (provider, client) => {
    fc.assert(
      fc.property(anyReply, made => {
        const reply = replyOf(made)
        const sent = CODECS[provider].reply.encode(reply, new Losses())
        const { body } = new Conversion(CODECS[client], CODECS[provider]).reply(JSON.parse(JSON.stringify(sent)), facts)
        const got = CODECS[client].reply.decode(JSON.parse(JSON.stringify(body)))
        expect(essence(got)).toEqual(essence(reply))
      }),
      { numRuns: 60 },
    )
  })

  test.each(pairs)('a stream from %s survives as %s', (provider, client) => {
    fc.assert(
      fc.property(anyReply, made => {
        const reply = replyOf(made)
        const conversion = new Conversion(CODECS[client], CODECS[provider]).stream(facts)
        const sent = rawEvents(provider, write(provider, eventsOf(reply)))
        const text = sent.map(event => conversion.push(event)).join('') + conversion.end()
        const got = collect(read(client, rawEvents(client, text)))
        expect(essence(got)).toEqual(essence(reply))
        expect(got.end).toBe('end')
      }),
      { numRuns: 60 },
    )
  })

  test.each(CHAT_FORMATS)('a truncated stream from %s never ends cleanly', format => {
    fc.assert(
      fc.property(anyReply, fc.nat(), (made, at) => {
        const raw = rawEvents(format, write(format, eventsOf(replyOf(made))))
        const finished = read(format, raw).findIndex(event => event.type === 'stop')
        const cut = raw.slice(0, at % raw.length)
        const events = read(format, cut)
        if (events.some(event => event.type === 'stop')) return
        expect(finished).toBeGreaterThan(-1)
        expect(events.at(-1)?.type).toBe('error')
      }),
      { numRuns: 60 },
    )
  })
})

describe('arbitrary provider events', () => {
  const names = fc.constantFrom(
    'messageStart',
    'contentBlockDelta',
    'contentBlockStart',
    'metadata',
    'throttlingException',
    undefined,
  )
  const types = fc.constantFrom(
    'message_start',
    'content_block_start',
    'content_block_delta',
    'message_delta',
    'error',
    'response.created',
    'response.output_item.done',
    'response.output_text.delta',
    'response.completed',
  )
  const members = fc.dictionary(
    fc.constantFrom(
      'type',
      'index',
      'delta',
      'choices',
      'message',
      'content_block',
      'item',
      'usage',
      'tool_calls',
      'candidates',
      'content',
      'parts',
      'error',
      'response',
      'output_index',
      'function',
      '__proto__',
    ),
    fc.oneof(types, fc.constant({ toString: null }), fc.jsonValue()),
  )
  const event = fc.record({
    name: names,
    data: fc.oneof(
      members.map(value => JSON.stringify(value)),
      fc.json(),
      fc.string(),
    ),
  })

  test.each(pairs)('a stream from %s to %s never throws and ends exactly once', (provider, client) => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 12 }), events => {
        const ends: string[] = []
        const conversion = new Conversion(CODECS[client], CODECS[provider]).stream(facts, each => {
          if (each.type === 'end' || each.type === 'error') ends.push(each.type)
        })
        for (const each of events) conversion.push(each)
        conversion.end()
        expect(ends).toHaveLength(1)
      }),
      { numRuns: 100 },
    )
  })
})
