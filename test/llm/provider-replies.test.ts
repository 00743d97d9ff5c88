import { describe, expect, test } from 'vitest'
import type { ChatFormat } from '../../src/llm/chat/chat.ts'
import { Conversion } from '../../src/llm/chat/conversion.ts'
import type { JsonObject } from '../../src/llm/chat/json.ts'
import { CODECS } from '../../src/llm/formats/codecs.ts'

// Replies that only some servers give.

const facts = { id: 'id_1', model: 'm', created: 7, usage: true }

function reply(client: ChatFormat, provider: ChatFormat, value: unknown) {
  const conversion = new Conversion(CODECS[client], CODECS[provider])
  const { body } = conversion.reply(value, facts)
  return { body, losses: conversion.losses.list.map(({ path }) => path) }
}

function stream(
  client: ChatFormat,
  provider: ChatFormat,
  events: readonly (JsonObject | readonly [string, JsonObject])[],
) {
  const conversion = new Conversion(CODECS[client], CODECS[provider])
  const stream = conversion.stream(facts)
  let text = ''
  for (const event of events) {
    const [name, data] = Array.isArray(event) ? event : [undefined, event]
    text += stream.push({ name, data: JSON.stringify(data) })
  }
  text += stream.end()
  const sent = text
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice(6)) as JsonObject)
  return { sent, text, losses: conversion.losses.list.map(({ path }) => path) }
}

const chunk = (delta: JsonObject, finish_reason: string | null = null, more: object = {}) => ({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason, ...more }],
})

describe('list content with thinking parts (Mistral)', () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'text', text: 'Hello' },
  ]
  test('is read from a complete response', () => {
    const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }
    expect(reply('messages', 'completions', { choices: [choice] }).body.content).toMatchObject([
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'Hello' },
    ])
  })
  test('is read from a stream', () => {
    const pieces = [...content.map(piece => chunk({ content: [piece] })), chunk({}, 'stop')]
    const { sent } = stream('messages', 'completions', pieces)
    expect(sent.flatMap(({ delta }) => (delta ? [delta] : []))).toMatchObject([
      { thinking: 'hm' },
      { text: 'Hello' },
      { stop_reason: 'end_turn' },
    ])
  })
})

test('the deprecated function_call is converted to a tool call', () => {
  const { sent } = stream('messages', 'completions', [
    chunk({ function_call: { name: 'now', arguments: '' } }),
    chunk({ function_call: { arguments: '{"z":1}' } }),
    chunk({}, 'function_call'),
  ])
  expect(sent[1]).toMatchObject({ content_block: { type: 'tool_use', name: 'now' } })
  expect(sent[2]).toMatchObject({ delta: { partial_json: '{"z":1}' } })
})

describe('output items without earlier deltas', () => {
  const item = (output_index: number, item: JsonObject) => ({ type: 'response.output_item.done', output_index, item })
  test('are emitted exactly once', () => {
    const { sent, text } = stream('messages', 'responses', [
      { type: 'response.created', response: { id: 'r' } },
      item(0, { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'sig' }),
      item(1, { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] }),
      item(2, { type: 'function_call', call_id: 'f', name: 'now', arguments: '{"z":1}' }),
      { type: 'response.completed', response: { status: 'completed' } },
    ])
    const blocks = sent.flatMap(({ content_block: block }) => (block ? [block] : []))
    expect(blocks).toMatchObject([{ type: 'thinking' }, { type: 'text' }, { type: 'tool_use', id: 'f', name: 'now' }])
    for (const once of ['hm', 'Hello', 'sig']) expect(text.split(`"${once}"`)).toHaveLength(2)
    expect(text).toContain('"stop_reason":"tool_use"')
  })
})

describe('log probabilities', () => {
  const tokens = [{ token: 'Hé', logprob: -0.5, bytes: [72, 195, 169], top_logprobs: [] }]
  const gemini = {
    topCandidates: [{ candidates: [{ token: 'Hé', logProbability: -0.5 }] }],
    chosenCandidates: [{ token: 'Hé', logProbability: -0.5 }],
  }
  const candidate = {
    index: 0,
    content: { role: 'model', parts: [{ text: 'Hé' }] },
    finishReason: 'STOP',
    logprobsResult: gemini,
  }
  const top_logprobs = [{ token: 'Hé', logprob: -0.5, bytes: [72, 195, 169] }]
  const read = [{ ...tokens[0], top_logprobs }]

  test('convert from Gemini to OpenAI and back', () => {
    const { body } = reply('completions', 'generateContent', { candidates: [candidate] })
    expect(body.choices).toMatchObject([{ logprobs: { content: read, refusal: null } }])
    expect(reply('generateContent', 'completions', body).body.candidates).toMatchObject([{ logprobsResult: gemini }])
  })
  test('are read from the text of a responses reply', () => {
    const said = { type: 'output_text', text: 'Hé', logprobs: tokens }
    const output = [{ type: 'message', role: 'assistant', content: [said] }]
    const { body } = reply('completions', 'responses', { status: 'completed', output })
    expect(body.choices).toMatchObject([{ logprobs: { content: tokens } }])
    expect(reply('responses', 'completions', body).body.output).toMatchObject([{ content: [said] }])
  })
  test('are streamed', () => {
    const completions = [chunk({ content: 'Hé' }, null, { logprobs: { content: tokens } }), chunk({}, 'stop')]
    const { sent } = stream('responses', 'completions', completions)
    expect(sent.find(({ type }) => type === 'response.output_text.done')).toMatchObject({ logprobs: tokens })
    expect(sent.at(-1)).toMatchObject({ response: { output: [{ content: [{ logprobs: tokens }] }] } })
    const chunks = stream('completions', 'generateContent', [{ candidates: [candidate] }]).sent
    expect(chunks.flatMap(({ choices }) => choices)).toMatchObject([
      { delta: { content: 'Hé' } },
      { logprobs: { content: read } },
      { finish_reason: 'stop' },
    ])
  })
})

describe('citations', () => {
  test('are reported as losses, and the cited text is kept', () => {
    const cited = { citationsContent: { content: [{ text: 'So it is.' }], citations: [{ title: 'a' }] } }
    const value = { output: { message: { role: 'assistant', content: [cited] } }, stopReason: 'end_turn' }
    const converse = reply('messages', 'converse', value)
    expect(converse.body.content).toEqual([{ type: 'text', text: 'So it is.' }])
    expect(converse.losses).toEqual(['output.message.content[0].citations'])
    const candidate = {
      content: { parts: [{ text: 'Hi' }] },
      finishReason: 'STOP',
      groundingMetadata: { webSearchQueries: ['q'] },
    }
    const named = ['candidates[0].groundingMetadata']
    expect(reply('completions', 'generateContent', { candidates: [candidate] }).losses).toEqual(named)
    expect(stream('completions', 'generateContent', [{ candidates: [candidate] }]).losses).toEqual(named)
  })
  test.each<[string, ChatFormat, JsonObject | readonly [string, JsonObject]]>([
    ['choices[0].delta.annotations', 'completions', chunk({ annotations: [{ type: 'url_citation' }] })],
    ['output[0].annotations', 'responses', { type: 'response.output_text.annotation.added', output_index: 0 }],
    [
      'content[0].citations',
      'converse',
      ['contentBlockDelta', { contentBlockIndex: 0, delta: { citation: { title: 'a' } } }],
    ],
    ['content[0].citations', 'messages', { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta' } }],
  ])('%s is reported as a loss', (path, provider, event) => {
    const begin = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
    const client = provider === 'completions' ? 'messages' : 'completions'
    expect(stream(client, provider, provider === 'messages' ? [begin, event] : [event]).losses).toEqual([path])
  })
})

test.each(['default', 'priority'])('the service tier `%s` is translated for each API', tier => {
  const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }
  const { body } = reply('messages', 'completions', { choices: [choice], service_tier: tier, usage: {} })
  expect(body.usage).toMatchObject({ service_tier: tier === 'default' ? 'standard' : tier })
  expect(reply('completions', 'messages', body).body.service_tier).toBe(tier)
})
