import { describe, expect, test } from 'vitest'
import type { ChatFormat } from '../../src/llm/chat/chat.ts'
import { Conversion } from '../../src/llm/chat/conversion.ts'
import type { JsonObject } from '../../src/llm/chat/json.ts'
import { Untranslatable } from '../../src/llm/chat/losses.ts'
import { CODECS } from '../../src/llm/formats/codecs.ts'

const facts = { id: 'id_1', model: 'asked', created: 7, usage: true }

function convert(from: ChatFormat, to: ChatFormat, body: JsonObject, model = 'm', stream = false) {
  const conversion = new Conversion(CODECS[from], CODECS[to])
  const request = conversion.request(body, { model, stream })
  return { request, losses: conversion.losses.list, conversion }
}

function reply(client: ChatFormat, provider: ChatFormat, value: unknown) {
  const conversion = new Conversion(CODECS[client], CODECS[provider])
  return { ...conversion.reply(value, facts), losses: conversion.losses.list }
}

/** Events as `name` and data; a stream of Bedrock has names, one of OpenAI data only. */
function stream(
  client: ChatFormat,
  provider: ChatFormat,
  events: readonly (unknown | [string, unknown])[],
  done = true,
) {
  const conversion = new Conversion(CODECS[client], CODECS[provider])
  const s = conversion.stream(facts)
  let out = ''
  for (const event of events) {
    const [name, data] = Array.isArray(event) ? event : [undefined, event]
    out += s.push({ name, data: typeof data === 'string' ? data : JSON.stringify(data) })
  }
  if (done) out += s.end()
  return out
}

/** The data of each event of a stream, parsed where it is JSON. */
function dataOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter(line => line.startsWith('data: '))
    .map(line => (line === 'data: [DONE]' ? '[DONE]' : JSON.parse(line.slice(6))))
}

const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'Weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
}
const chat = {
  model: 'gpt-x',
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Weather?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAA' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'c1',
          type: 'function',
          function: { name: 'weather', arguments: '{"city":"Bern","id":12345678901234567890}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'rain' },
  ],
  tools: [weather],
  tool_choice: 'required',
  parallel_tool_calls: false,
  max_tokens: 100,
  temperature: 1.5,
  stop: 'END',
  user: 'u1',
}

describe('a chat completions client', () => {
  test('reaches an Anthropic provider with tools, images and tool results', () => {
    const { request, losses } = convert('completions', 'messages', chat)
    expect(JSON.parse(JSON.stringify(request))).toMatchObject({
      model: 'm',
      max_tokens: 100,
      system: 'Be brief.',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Weather?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAA' } },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'weather' }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'rain' }] },
      ],
      temperature: 1,
      stop_sequences: ['END'],
      metadata: { user_id: 'u1' },
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
    })
    expect(JSON.stringify(request)).toContain('"id":12345678901234567890')
    expect(losses).toEqual([{ path: 'temperature', reason: "Anthropic's maximum is 1; lowered" }])
  })

  test('reaches Bedrock and Gemini', () => {
    const converse = convert('completions', 'converse', chat)
    expect(converse.request).toMatchObject({
      system: [{ text: 'Be brief.' }],
      inferenceConfig: { maxTokens: 100, temperature: 1.5, stopSequences: ['END'] },
      toolConfig: { toolChoice: { any: {} }, tools: [{ toolSpec: { name: 'weather' } }] },
    })
    expect(converse.losses.map(({ path }) => path)).toEqual(['parallel_tool_calls', 'user'])
    const gemini = convert('completions', 'generateContent', chat)
    expect(gemini.request).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Weather?' }, { inlineData: { mimeType: 'image/png', data: 'AAA' } }] },
        { role: 'model', parts: [{ functionCall: { name: 'weather' } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'weather', response: { content: 'rain' } } }] },
      ],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      generationConfig: { maxOutputTokens: 100, stopSequences: ['END'] },
    })
  })

  test('gets the paths of lost fields in its own body', () => {
    const { losses } = convert('completions', 'messages', {
      ...chat,
      temperature: 1,
      seed: 5,
      logit_bias: { 5: 1 },
      foo: 1,
    })
    expect(losses.map(({ path }) => path)).toEqual(['seed', 'logit_bias', 'foo'])
  })

  test('cannot send a provider files stored with another one', () => {
    const body = { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] }
    expect(() => convert('completions', 'messages', body)).toThrow(Untranslatable)
  })

  test('gets tools, reasoning and usage from an Anthropic response', () => {
    const { body } = reply('completions', 'messages', {
      id: 'msg_1',
      model: 'claude',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'sig' },
        { type: 'text', text: 'Hi' },
        { type: 'tool_use', id: 't1', name: 'weather', input: { city: 'Bern' } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 },
    })
    expect(body).toMatchObject({
      id: 'msg_1',
      model: 'claude',
      choices: [
        {
          message: {
            content: 'Hi',
            reasoning_content: 'hm',
            reasoning_signature: 'sig',
            tool_calls: [{ id: 't1', function: { name: 'weather', arguments: '{"city":"Bern"}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 15,
        completion_tokens: 5,
        total_tokens: 20,
        prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
      },
    })
  })

  test('gets an Anthropic stream as chunks, with {} for empty arguments and usage from the start', () => {
    const out = dataOf(
      stream('completions', 'messages', [
        {
          type: 'message_start',
          message: { id: 'msg_1', model: 'claude', usage: { input_tokens: 9, output_tokens: 1 } },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'content_block_start',
          index: 1,
          content_block: { type: 'tool_use', id: 't1', name: 'now', input: {} },
        },
        { type: 'content_block_stop', index: 1 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 4 } },
        { type: 'message_stop' },
      ]),
    )
    expect(out).toMatchObject([
      { id: 'msg_1', model: 'claude', choices: [{ delta: { role: 'assistant', content: 'Hi' } }] },
      { choices: [{ delta: { tool_calls: [{ index: 0, id: 't1', type: 'function', function: { name: 'now' } }] } }] },
      { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '{}' } }] } }] },
      { choices: [{ delta: {}, finish_reason: 'tool_calls' }] },
      { choices: [], usage: { prompt_tokens: 9, completion_tokens: 4 } },
      '[DONE]',
    ])
  })

  test.each<[string, ChatFormat, unknown[]]>([
    [
      'Anthropic',
      'messages',
      [
        { type: 'message_start', message: {} },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'x' } },
      ],
    ],
    ['Responses', 'responses', [{ type: 'response.created', response: {} }]],
    ['Gemini', 'generateContent', [{ candidates: [{ content: { parts: [{ text: 'x' }] } }] }]],
    [
      'Bedrock',
      'converse',
      [
        ['messageStart', {}],
        ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'x' } }],
      ],
    ],
  ])('gets an error at the end of a truncated %s stream', (_, provider, events) => {
    const out = dataOf(stream('completions', provider, events))
    expect(out.at(-1)).toMatchObject({ error: { type: 'server_error' } })
    expect(out).not.toContain('[DONE]')
  })
})

describe('a messages client', () => {
  test('gets interleaved tool calls one after the other', () => {
    const call = (index: number, rest: object) => ({
      choices: [{ index: 0, delta: { tool_calls: [{ index, ...rest }] } }],
    })
    const out = dataOf(
      stream('messages', 'completions', [
        call(0, { id: 'a', function: { name: 'one', arguments: '' } }),
        call(1, { id: 'b', function: { name: 'two', arguments: '' } }),
        call(0, { function: { arguments: '{"x":' } }),
        call(1, { function: { arguments: '{"y":2}' } }),
        call(0, { function: { arguments: '1}' } }),
        { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
        '[DONE]',
      ]),
    ) as { type: string; index?: number; delta?: { partial_json?: string; stop_reason?: string } }[]
    const order = out.flatMap(({ type, index }) =>
      index === undefined ? [] : [`${type.replace('content_block_', '')} ${index}`],
    )
    expect(order).toEqual(['start 0', 'delta 0', 'delta 0', 'stop 0', 'start 1', 'delta 1', 'stop 1'])
    expect(out.at(-2)).toMatchObject({
      type: 'message_delta',
      delta: { stop_reason: 'tool_use' },
      usage: { input_tokens: 3, output_tokens: 2 },
    })
    expect(out.at(-1)).toEqual({ type: 'message_stop' })
  })

  test('gets an error event of its own format when the stream breaks', () => {
    const out = stream('messages', 'completions', [{ choices: [{ index: 0, delta: { content: 'x' } }] }])
    expect(out).toContain('event: error\n')
    expect(out).not.toContain('message_stop')
  })

  test('gets a filtered response as a refusal', () => {
    const { body } = reply('messages', 'completions', {
      choices: [{ message: { content: '' }, finish_reason: 'content_filter' }],
    })
    expect(body.stop_reason).toBe('refusal')
  })

  test('keeps thinking for Bedrock, including signatures and encrypted parts', () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' }
    const redacted = { type: 'redacted_thinking', data: 'zzz' }
    const { request } = convert('messages', 'converse', {
      max_tokens: 9000,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      temperature: 0.2,
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: [thinking, redacted, { type: 'tool_use', id: 't', name: 'a.b', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'no', is_error: true }] },
      ],
      tools: [
        { name: 'a.b', input_schema: { type: 'object' } },
        { name: 'a_b', input_schema: { type: 'object' } },
      ],
      tool_choice: { type: 'any' },
    })
    expect(request).toMatchObject({
      messages: [
        {},
        {
          content: [
            { reasoningContent: { reasoningText: { text: 'hm', signature: 's' } } },
            { reasoningContent: { redactedContent: 'zzz' } },
            { toolUse: { name: 'a_b' } },
          ],
        },
        { content: [{ toolResult: { toolUseId: 't', status: 'error', content: [{ text: 'no' }] } }] },
      ],
      inferenceConfig: { maxTokens: 9000 },
      toolConfig: { toolChoice: { auto: {} } },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2000 } },
    })
    const names = (request.toolConfig as { tools: { toolSpec: { name: string } }[] }).tools.map(
      tool => tool.toolSpec.name,
    )
    expect(new Set(names).size).toBe(2)
    expect(request.inferenceConfig as object).not.toHaveProperty('temperature')
  })
})

describe('requests for OpenAI', () => {
  const thought = { type: 'thinking', thinking: 'hm', signature: 'sig' }
  const history = {
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [thought, { type: 'text', text: 'Hello' }] },
      { role: 'user', content: 'Again' },
    ],
  }

  test('include earlier reasoning only where the server accepts it', () => {
    const { request, losses } = convert('messages', 'completions', history)
    expect(request.messages).toContainEqual({ role: 'assistant', content: 'Hello' })
    expect(losses).toEqual([
      { path: 'messages[1].content[0]', reason: 'Chat Completions cannot express reasoning of earlier turns; dropped' },
    ])
    const own = new Conversion(CODECS.messages, CODECS.completions)
    const asked = own.request(history, { model: 'm', stream: false, takesThoughts: true })
    expect(asked.messages).toContainEqual({
      role: 'assistant',
      content: 'Hello',
      reasoning_content: 'hm',
      reasoning_signature: 'sig',
    })
  })

  test('give earlier assistant messages an id', () => {
    const { request } = convert('messages', 'responses', history)
    const content = [{ type: 'output_text', text: 'Hello', annotations: [] }]
    const said = { type: 'message', id: 'msg_1', role: 'assistant', content, status: 'completed' }
    expect(request.input).toContainEqual(said)
  })

  test('put a tool’s grammar where each API expects it', () => {
    const grammar = { syntax: 'lark', definition: 'start: /.+/' }
    const flat = { type: 'custom', name: 'patch', format: { type: 'grammar', ...grammar } }
    const nested = { type: 'custom', custom: { name: 'patch', format: { type: 'grammar', grammar } } }
    const asked = { input: 'Hi', tools: [flat] }
    expect(convert('responses', 'completions', asked).request.tools).toEqual([nested])
    const back = { messages: [{ role: 'user', content: 'Hi' }], tools: [nested] }
    expect(convert('completions', 'responses', back).request.tools).toEqual([flat])
  })
})

test('a Gemini schema uses Google’s types and sizes, and converts back', () => {
  const items = { type: 'string', maxLength: 3 }
  const schema = { type: 'object', properties: { type: { type: 'array', items, minItems: 1 } }, exclusiveMinimum: 1 }
  const response_format = { type: 'json_schema', json_schema: { name: 's', schema } }
  const body = { messages: [{ role: 'user', content: 'Hi' }], response_format }
  const { request, losses } = convert('completions', 'generateContent', body)
  const list = { type: 'ARRAY', items: { type: 'STRING', maxLength: '3' }, minItems: '1' }
  const config = {
    responseMimeType: 'application/json',
    responseSchema: { type: 'OBJECT', properties: { type: list } },
  }
  expect(request.generationConfig).toEqual(config)
  expect(losses.map(({ path }) => path)).toEqual(['response_format.exclusiveMinimum'])
  const { request: back } = convert('generateContent', 'completions', request)
  const { exclusiveMinimum: _, ...kept } = schema
  expect(back.response_format).toMatchObject({ json_schema: { schema: kept } })
})

describe('a responses client', () => {
  const body = {
    instructions: 'Be brief.',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Hi' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAA' },
        ],
      },
      { type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'sig' },
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'rain' },
    ],
    tools: [{ type: 'function', name: 'weather', parameters: { type: 'object' } }],
    max_output_tokens: 50,
  }

  test('reaches a Claude model', () => {
    const { request } = convert('responses', 'messages', body)
    expect(request).toMatchObject({
      system: 'Be brief.',
      max_tokens: 50,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }, { type: 'image' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'sig' },
            { type: 'tool_use', id: 'c1' },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'rain' }] },
      ],
    })
  })

  test('gets an error when it refers to stored history', () => {
    expect(() => convert('responses', 'messages', { ...body, previous_response_id: 'r' })).toThrow(
      /previous_response_id/,
    )
  })

  test('gets named events, full texts when they end, and a complete response', () => {
    const text = stream('responses', 'messages', [
      { type: 'message_start', message: { id: 'msg_1', model: 'claude', usage: { input_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 't1', name: 'weather', input: {} },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 4 } },
      { type: 'message_stop' },
    ])
    const names = text
      .split('\n')
      .filter(line => line.startsWith('event: '))
      .map(line => line.slice(7))
    expect(names).toEqual((dataOf(text) as { type: string }[]).map(({ type }) => type))
    expect(dataOf(text).at(-1)).toMatchObject({
      type: 'response.completed',
      response: {
        status: 'completed',
        output: [
          { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] },
          { type: 'function_call', call_id: 't1', name: 'weather', arguments: '{"a":1}' },
        ],
        usage: { input_tokens: 1, output_tokens: 4 },
      },
    })
  })
})
