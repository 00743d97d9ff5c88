import { describe, expect, test } from 'vitest'
import type { ChatFormat } from '../../src/llm/chat/chat.ts'
import { Conversion } from '../../src/llm/chat/conversion.ts'
import type { JsonObject } from '../../src/llm/chat/json.ts'
import { CODECS } from '../../src/llm/formats/codecs.ts'

// What a provider refuses in a request that the client's own would have taken.

const facts = { id: 'id_1', model: 'm', created: 7, usage: true }
const LONG = 'tool'.repeat(20)

function convert(from: ChatFormat, to: ChatFormat, body: JsonObject, model = 'm') {
  const conversion = new Conversion(CODECS[from], CODECS[to])
  const request = conversion.request(body, { model, stream: false })
  return { request, conversion, losses: conversion.losses.list.map(({ path }) => path) }
}

const hi = { role: 'user', content: 'Hi' }
const calling = (name: string, id = 'c1', args = '{}') => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
})
const tool = (name: string, more: object = {}) => ({ type: 'function', function: { name, ...more } })

interface Rule {
  readonly rule: string
  readonly from: ChatFormat
  readonly to: ChatFormat
  readonly model?: string
  readonly body: JsonObject
  readonly sent: unknown
  readonly losses?: readonly string[]
}

const RULES: readonly Rule[] = [
  {
    rule: 'a name of a tool is made of words, and no longer than the provider takes',
    from: 'messages',
    to: 'completions',
    body: { messages: [hi], tools: [{ name: LONG }, { name: 'a.b' }], tool_choice: { type: 'tool', name: 'a.b' } },
    sent: {
      tools: [{ function: { name: expect.stringMatching(/^(?:tool)+t_[0-9a-f]{6}$/) } }, { function: { name: 'a_b' } }],
      tool_choice: { function: { name: 'a_b' } },
    },
  },
  {
    rule: 'an id of a call is one that Anthropic takes, in the call and in its result',
    from: 'completions',
    to: 'messages',
    body: {
      messages: [
        hi,
        calling('now', 'functions.now:0'),
        { role: 'tool', tool_call_id: 'functions.now:0', content: '9' },
      ],
    },
    sent: {
      messages: [{}, { content: [{ id: 'functions_now_0' }] }, { content: [{ tool_use_id: 'functions_now_0' }] }],
    },
  },
  {
    rule: 'arguments that are no object are sent as a text, and named',
    from: 'completions',
    to: 'messages',
    body: { messages: [hi, calling('now', 'c1', '{"zone":"Eu'), { role: 'tool', tool_call_id: 'c1', content: '9' }] },
    sent: { messages: [{}, { content: [{ input: { input: '{"zone":"Eu' } }] }, {}] },
    losses: ['messages[1].tool_calls[0]'],
  },
  {
    rule: 'Anthropic has tiers of its own',
    from: 'completions',
    to: 'messages',
    body: { messages: [hi], service_tier: 'default' },
    sent: { service_tier: 'standard_only' },
  },
  {
    rule: 'a tier that Anthropic has not is named',
    from: 'completions',
    to: 'messages',
    body: { messages: [hi], service_tier: 'flex' },
    sent: expect.not.objectContaining({ service_tier: expect.anything() }),
    losses: ['service_tier'],
  },
  {
    rule: 'Anthropic refuses blank stop strings',
    from: 'completions',
    to: 'messages',
    body: { messages: [hi], stop: ['\n', 'END'] },
    sent: { stop_sequences: ['END'] },
    losses: ['stop'],
  },
  {
    rule: 'OpenAI takes four stop strings',
    from: 'messages',
    to: 'completions',
    body: { messages: [hi], stop_sequences: ['a', 'b', 'c', 'd', 'e'] },
    sent: { stop: ['a', 'b', 'c', 'd'] },
    losses: ['stop_sequences'],
  },
  {
    rule: 'a text document is a text for Anthropic',
    from: 'completions',
    to: 'messages',
    body: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,SGk=' } }],
        },
      ],
    },
    sent: { messages: [{ content: [{ source: { type: 'text', media_type: 'text/plain', data: 'Hi' } }] }] },
  },
  {
    rule: 'newer Claude models decide how much they think, and take no sampling',
    from: 'completions',
    to: 'messages',
    model: 'claude-opus-4-7',
    body: { messages: [hi], reasoning_effort: 'minimal', temperature: 0.2 },
    sent: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    losses: ['temperature'],
  },
  {
    rule: 'older ones on Bedrock have a budget',
    from: 'completions',
    to: 'converse',
    model: 'eu.anthropic.claude-sonnet-4-20250514-v1:0',
    body: { messages: [hi], reasoning_effort: 'medium' },
    sent: { additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2048 } } },
  },
  {
    rule: 'and newer ones there have none',
    from: 'messages',
    to: 'converse',
    model: 'global.anthropic.claude-opus-4-8-20260601-v1:0',
    body: { messages: [hi], max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 8000 } },
    sent: { additionalModelRequestFields: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } } },
  },
  {
    rule: 'an assistant that has said nothing is no message for OpenAI',
    from: 'messages',
    to: 'completions',
    body: { messages: [hi, { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'x' }] }, hi] },
    sent: { messages: [{ role: 'user' }, { role: 'user' }] },
    losses: ['messages[1].content[0]'],
  },
  {
    rule: 'results of one turn stand together, with what they show behind them',
    from: 'responses',
    to: 'completions',
    body: {
      input: [
        { type: 'function_call', call_id: 'a', name: 'see', arguments: '{}' },
        { type: 'function_call', call_id: 'b', name: 'now', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'a',
          output: [{ type: 'input_image', image_url: 'data:image/png;base64,AAA' }],
        },
        { type: 'function_call_output', call_id: 'b', output: '9' },
      ],
    },
    sent: {
      messages: [{ role: 'assistant' }, { tool_call_id: 'a' }, { tool_call_id: 'b', content: '9' }, { role: 'user' }],
    },
    losses: ['input[2].output[0]'],
  },
  {
    rule: 'Gemini 3 takes calls of other models with a signature that says so',
    from: 'completions',
    to: 'generateContent',
    model: 'gemini-3-pro',
    body: { messages: [hi, calling('now'), { role: 'tool', tool_call_id: 'c1', content: '9' }] },
    sent: { contents: [{}, { parts: [{ thoughtSignature: 'skip_thought_signature_validator' }] }, {}] },
  },
  {
    rule: 'OpenAI gives probabilities of alternatives with those of tokens only',
    from: 'responses',
    to: 'completions',
    body: { input: 'Hi', top_logprobs: 2 },
    sent: { logprobs: true, top_logprobs: 2 },
  },
  {
    rule: 'and in responses where they are included',
    from: 'completions',
    to: 'responses',
    body: { messages: [hi], logprobs: true, top_logprobs: 2 },
    sent: { include: ['message.output_text.logprobs'], top_logprobs: 2 },
  },
  {
    rule: 'instructions within a conversation are with the others for Gemini',
    from: 'completions',
    to: 'generateContent',
    body: { messages: [{ role: 'system', content: 'A' }, hi, { role: 'system', content: 'B' }] },
    sent: { systemInstruction: { parts: [{ text: 'A\nB' }] }, contents: [{ role: 'user' }] },
    losses: ['messages[2]'],
  },
]

describe('provider restrictions', () => {
  test.each(RULES)('$rule', ({ from, to, model, body, sent, losses = [] }) => {
    const converted = convert(from, to, body, model)
    expect(converted.request).toMatchObject(sent as object)
    expect(converted.losses).toEqual(losses)
  })
})

describe('losses', () => {
  test('include only real changes, not defaults set explicitly', () => {
    const usual = { n: 1, presence_penalty: 0, frequency_penalty: 0, logprobs: false, parallel_tool_calls: true }
    const idle = { store: false, service_tier: 'auto', logit_bias: {} }
    for (const to of ['messages', 'generateContent', 'converse'] as const) {
      expect(convert('completions', to, { messages: [hi], ...usual, ...idle }).losses).toEqual([])
    }
  })

  test('are reported with their path wherever they occur', () => {
    const messages = [
      {
        role: 'system',
        content: [
          { type: 'text', text: 'A' },
          { type: 'image_url', image_url: { url: 'data:,' } },
        ],
      },
      { role: 'user', name: 'ann', content: 'Hi' },
    ]
    const tools = [tool('now', { strict: true })]
    expect(convert('completions', 'messages', { messages, tools }).losses).toEqual([
      'messages[1].name',
      'tools[0].function.strict',
      'messages[0].content[1]',
    ])
    const cache_control = { type: 'ephemeral' }
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A' }, cache_control }
    const source = { type: 'text', media_type: 'text/plain', data: 'x' }
    const document = { type: 'document', source, context: 'a list', citations: { enabled: true } }
    const cached = {
      system: [{ type: 'text', text: 'A', cache_control }],
      messages: [{ role: 'user', content: [image, document] }],
      tools: [{ name: 'now', cache_control }],
    }
    expect(convert('messages', 'completions', cached).losses).toEqual([
      'messages[0].content[1].context',
      'messages[0].content[1].citations',
      'system[0].cache_control',
      'messages[0].content[0].cache_control',
      'tools[0].cache_control',
    ])
    expect(convert('messages', 'converse', cached).losses).toEqual([])
  })
})

describe('a tool with text input', () => {
  const body = {
    input: 'Patch it',
    tools: [{ type: 'custom', name: 'apply.patch', format: { type: 'text' } }],
  }
  const patch = '*** Begin Patch\n"quoted"\n*** End Patch'

  test('is called with text although the provider supports only JSON', () => {
    const { conversion, request } = convert('responses', 'messages', body)
    expect(request.tools).toMatchObject([{ name: 'apply_patch', input_schema: { required: ['input'] } }])
    const use = { type: 'tool_use', id: 't1', name: 'apply_patch', input: { input: patch } }
    const reply = { id: 'm', content: [use], stop_reason: 'tool_use', usage: {} }
    expect(conversion.reply(reply, facts).body.output).toMatchObject([
      { type: 'custom_tool_call', call_id: 't1', name: 'apply.patch', input: patch },
    ])
  })

  test('also works in a stream', () => {
    const { conversion } = convert('responses', 'messages', body)
    const stream = conversion.stream(facts)
    const json = JSON.stringify({ input: patch })
    const events = [
      { type: 'message_start', message: { id: 'm' } },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't1', name: 'apply_patch' } },
      ...[json.slice(0, 20), json.slice(20)].map(partial_json => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} },
      { type: 'message_stop' },
    ]
    const text = events.map(event => stream.push({ data: JSON.stringify(event) })).join('')
    const sent = text
      .split('\n')
      .filter(line => line.startsWith('data: '))
      .map(line => JSON.parse(line.slice(6)) as JsonObject)
    expect(sent.filter(({ type }) => type === 'response.custom_tool_call_input.delta')).toMatchObject([
      { delta: patch },
    ])
    expect(sent.at(-1)).toMatchObject({ response: { output: [{ type: 'custom_tool_call', input: patch }] } })
  })
})
