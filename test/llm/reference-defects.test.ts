import { describe, expect, test } from 'vitest'
import { EndpointHealth } from '../../src/backends/endpoint-health.ts'
import type { ChatFormat } from '../../src/llm/chat/chat.ts'
import { Conversion } from '../../src/llm/chat/conversion.ts'
import type { JsonObject } from '../../src/llm/chat/json.ts'
import { CODECS } from '../../src/llm/formats/codecs.ts'
import { compileRoutes, DEFAULT_ROUTES } from '../../src/llm/route-type.ts'

// Defects of the public system. Those of guards, budgets and failover are tested where these are.

const facts = { id: 'id_1', model: 'm', created: 7, usage: true }

function convert(from: ChatFormat, to: ChatFormat, body: JsonObject) {
  const conversion = new Conversion(CODECS[from], CODECS[to])
  return { request: conversion.request(body, { model: 'm', stream: false }), losses: conversion.losses.list }
}

function stream(client: ChatFormat, provider: ChatFormat, events: readonly (readonly [string, object])[]): string {
  const conversion = new Conversion(CODECS[client], CODECS[provider]).stream(facts)
  return events.map(([name, data]) => conversion.push({ name, data: JSON.stringify(data) })).join('') + conversion.end()
}

test('the thinking budget on Bedrock stays below max_tokens, and sampling options are dropped', () => {
  const messages = [{ role: 'user', content: 'Hi' }]
  const asked = { messages, reasoning_effort: 'high', max_tokens: 2000, temperature: 0.5 }
  const { request, losses } = convert('completions', 'converse', asked)
  expect(request.additionalModelRequestFields).toEqual({ thinking: { type: 'enabled', budget_tokens: 1999 } })
  expect(request.inferenceConfig).toEqual({ maxTokens: 2000 })
  expect(losses.map(({ path }) => path)).toEqual(['temperature'])
})

test('a streamed call without arguments gets {}, and a stream without usage still ends', () => {
  const events = [
    ['messageStart', { role: 'assistant' }],
    ['contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't', name: 'now' } } }],
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['messageStop', { stopReason: 'tool_use' }],
  ] as const
  expect(stream('completions', 'converse', events)).toContain('"arguments":"{}"')
  expect(stream('messages', 'converse', events)).toContain('event: message_stop')
})

test('a refusal is sent only once', () => {
  const at = { output_index: 0, content_index: 0, item_id: 'i' }
  const events = [
    ['', { type: 'response.created', response: { id: 'r' } }],
    ['', { type: 'response.refusal.delta', ...at, delta: 'I will not.' }],
    ['', { type: 'response.refusal.done', ...at, refusal: 'I will not.' }],
    ['', { type: 'response.content_part.done', ...at, part: { type: 'refusal', refusal: 'I will not.' } }],
    ['', { type: 'response.completed', response: { status: 'completed' } }],
  ] as const
  const text = stream('messages', 'responses', events)
  expect(text.match(/I will not\./g)).toHaveLength(1)
  expect(text).toContain('"stop_reason":"refusal"')
})

test('earlier thinking does not fail a conversion to responses', () => {
  const content = [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'text', text: 'Hello' },
  ]
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content },
    { role: 'user', content: 'And?' },
  ]
  const { request, losses } = convert('messages', 'responses', { messages })
  expect(JSON.stringify(request.input)).toContain('Hello')
  expect(losses.map(({ path }) => path)).toEqual(['messages[1].content[0]'])
})

test('an image URL for Gemini is a request error', () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  expect(() => convert('completions', 'generateContent', { messages: [{ role: 'user', content: [image] }] })).toThrow(
    /fetches nothing from the web/,
  )
})

test('a tool without parameters gets an empty schema for Anthropic', () => {
  const tools = [{ type: 'function', function: { name: 'now' } }]
  const { request } = convert('completions', 'messages', { messages: [{ role: 'user', content: 'Hi' }], tools })
  expect(request.tools).toMatchObject([{ name: 'now', input_schema: { type: 'object' } }])
})

test('a realtime session is one on a listener without routes of its own', () => {
  expect(compileRoutes(DEFAULT_ROUTES)('/v1/realtime?model=gpt-realtime')).toBe('realtime')
})

const hi = { role: 'user', content: 'Hi' }
const now = { type: 'function', function: { name: 'now', parameters: { type: 'object' } } }

function dataOf(text: string): JsonObject[] {
  const lines = text.split('\n').filter(line => line.startsWith('data: {'))
  return lines.map(line => JSON.parse(line.slice(6)) as JsonObject)
}

function replied(client: ChatFormat, provider: ChatFormat, value: unknown): JsonObject {
  return new Conversion(CODECS[client], CODECS[provider]).reply(value, facts).body
}

describe('a request', () => {
  test.each<[string, ChatFormat, ChatFormat, JsonObject, object]>([
    [
      'has the tool choice where Bedrock expects it',
      'completions',
      'converse',
      { messages: [hi], tools: [now], tool_choice: { type: 'function', function: { name: 'now' } } },
      { toolConfig: { toolChoice: { tool: { name: 'now' } } } },
    ],
    [
      'from a Responses client reaches a Claude model',
      'responses',
      'messages',
      { input: 'Hi', instructions: 'Be brief.' },
      { system: 'Be brief.', messages: [{ role: 'user', content: [{ text: 'Hi' }] }] },
    ],
    [
      'keeps its cache points for Anthropic',
      'completions',
      'messages',
      { messages: [{ ...hi, content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }] },
      { messages: [{ content: [{ cache_control: { type: 'ephemeral' } }] }] },
    ],
    [
      'keeps its cache points for Bedrock',
      'completions',
      'converse',
      { messages: [{ ...hi, content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }] },
      { messages: [{ content: [{ text: 'Hi' }, { cachePoint: { type: 'default' } }] }] },
    ],
  ])('%s', (_name, from, to, body, sent) => {
    expect(convert(from, to, body).request).toMatchObject(sent)
  })

  test('that continues from stored history is rejected', () => {
    expect(() => convert('responses', 'messages', { input: 'Hi', previous_response_id: 'r' })).toThrow(
      /previous_response_id: .*send the whole conversation/,
    )
  })
})

describe('a response', () => {
  test('that was filtered becomes a refusal for Anthropic clients, complete or streamed', () => {
    const choice = { index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'content_filter' }
    expect(replied('messages', 'completions', { choices: [choice] })).toMatchObject({ stop_reason: 'refusal' })
    const events = [
      ['', { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'content_filter' }] }],
    ] as const
    expect(stream('messages', 'completions', events)).toContain('"stop_reason":"refusal"')
  })

  test('keeps reasoning and its signature', () => {
    const message = { role: 'assistant', content: 'Hello', reasoning_content: 'hm', reasoning_signature: 'sig' }
    expect(replied('messages', 'completions', { choices: [{ message, finish_reason: 'stop' }] }).content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'text', text: 'Hello' },
    ])
  })

  test('carries Gemini’s signature on its first tool call, whichever part it came with', () => {
    const parts = [{ text: 'hm', thought: true, thoughtSignature: 'c2ln' }, { functionCall: { name: 'now', args: {} } }]
    const { choices } = replied('completions', 'generateContent', {
      candidates: [{ content: { parts }, finishReason: 'STOP' }],
    })
    expect(choices).toMatchObject([{ message: { tool_calls: [{ id: expect.stringMatching(/__thought__c2ln$/) }] } }])
  })
})

describe('an error', () => {
  test.each<[ChatFormat, ChatFormat, number, object, object]>([
    [
      'completions',
      'messages',
      529,
      { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
      { error: { message: 'busy', type: 'server_error' } },
    ],
    [
      'completions',
      'messages',
      429,
      { type: 'error', error: { type: 'rate_limit_error', message: 'slow' } },
      { error: { message: 'slow', type: 'rate_limit_error' } },
    ],
    [
      'messages',
      'converse',
      429,
      { __type: 'ThrottlingException', message: 'slow' },
      { type: 'error', error: { type: 'rate_limit_error', message: 'slow' } },
    ],
    [
      'messages',
      'converse',
      403,
      { message: 'no' },
      { type: 'error', error: { type: 'permission_error', message: 'no' } },
    ],
  ])('reaches %s clients from %s with the matching type (%i)', (client, provider, status, value, body) => {
    const conversion = new Conversion(CODECS[client], CODECS[provider])
    expect(conversion.error(status, value).body).toMatchObject(body)
  })

  test.each<[ChatFormat, readonly (readonly [string, object])[]]>([
    ['messages', [['error', { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }]]],
    ['converse', [['throttlingException', { message: 'busy' }]]],
  ])('in a stream from %s ends it', (provider, events) => {
    const text = stream('completions', provider, events)
    expect(dataOf(text)).toMatchObject([{ error: { message: 'busy' } }])
    expect(text).not.toContain('[DONE]')
  })
})

describe('a stream for', () => {
  const at = (index: number, delta: object) => ['contentBlockDelta', { contentBlockIndex: index, delta }] as const
  const events = [
    ['messageStart', { role: 'assistant' }],
    at(0, { text: 'Hello' }),
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['contentBlockStart', { contentBlockIndex: 1, start: { toolUse: { toolUseId: 'tooluse_1', name: 'now' } } }],
    at(1, { toolUse: { input: '{"z":1}' } }),
    ['contentBlockStop', { contentBlockIndex: 1 }],
    ['messageStop', { stopReason: 'tool_use' }],
  ] as const

  test('a responses client has named events, full texts, final items and the provider’s ids', () => {
    const text = stream('responses', 'converse', events)
    const sent = dataOf(text)
    const names = text.match(/(?<=^event: ).*$/gm)
    expect(names).toEqual(sent.map(({ type }) => type))
    expect(sent.find(({ type }) => type === 'response.output_text.done')).toMatchObject({ text: 'Hello' })
    expect(sent.at(-1)).toMatchObject({
      type: 'response.completed',
      response: {
        output: [
          { type: 'message', content: [{ text: 'Hello' }] },
          { type: 'function_call', call_id: 'tooluse_1', arguments: '{"z":1}' },
        ],
      },
    })
  })

  test('an Anthropic client has one content block after the other', () => {
    const call = (index: number, more: object) => ({ index, ...more })
    const chunk = (delta: object, finish_reason: string | null = null) =>
      ['', { choices: [{ index: 0, delta, finish_reason }] }] as const
    const named = (index: number) => call(index, { id: `c${index}`, function: { name: 'now', arguments: '' } })
    const piece = (index: number, text: string) => call(index, { function: { arguments: text } })
    const text = stream('messages', 'completions', [
      chunk({ tool_calls: [named(0), named(1)] }),
      chunk({ tool_calls: [piece(1, '{"b":'), piece(0, '{"a":')] }),
      chunk({ tool_calls: [piece(0, '1}'), piece(1, '2}')] }),
      chunk({}, 'tool_calls'),
    ])
    const order = dataOf(text).flatMap(({ type, index }) => (index === undefined ? [] : [`${type} ${index}`]))
    expect(order.indexOf('content_block_stop 0')).toBeLessThan(order.indexOf('content_block_start 1'))
  })

  test('an OpenAI client uses the token counts from the start if the end has none', () => {
    const sent = dataOf(
      stream('completions', 'messages', [
        [
          'message_start',
          { type: 'message_start', message: { id: 'm', usage: { input_tokens: 7, output_tokens: 1 } } },
        ],
        ['message_delta', { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }],
        ['message_stop', { type: 'message_stop' }],
      ]),
    )
    expect(sent.at(-1)).toMatchObject({ usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } })
  })
})

test('a health score restored at zero recovers gradually', () => {
  const health = new EndpointHealth()
  const rules = { eviction: { duration: 1, restoreHealth: 0 } }
  health.begin()
  health.fail(10, rules as never, 1)
  expect(health.evicted(1000)).toBe(false)
  expect(health.score).toBe(0)
  health.begin()
  health.succeed(0)
  expect(health.score).toBeCloseTo(0.3)
})
