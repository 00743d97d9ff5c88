import { expect, test } from 'vitest'
import type { ChatFormat } from '../../src/llm/chat/chat.ts'
import { Conversion } from '../../src/llm/chat/conversion.ts'
import type { JsonObject } from '../../src/llm/chat/json.ts'
import { CODECS } from '../../src/llm/formats/codecs.ts'

// Defects of the public system that no other test here is about.

const facts = { id: 'id_1', model: 'm', created: 7, usage: true }

function convert(from: ChatFormat, to: ChatFormat, body: JsonObject) {
  const conversion = new Conversion(CODECS[from], CODECS[to])
  return { request: conversion.request(body, { model: 'm', stream: false }), losses: conversion.losses.list }
}

function stream(client: ChatFormat, provider: ChatFormat, events: readonly (readonly [string, object])[]): string {
  const conversion = new Conversion(CODECS[client], CODECS[provider]).stream(facts)
  return events.map(([name, data]) => conversion.push({ name, data: JSON.stringify(data) })).join('') + conversion.end()
}

test('thinking on Bedrock stays below the limit of tokens, without sampling', () => {
  const messages = [{ role: 'user', content: 'Hi' }]
  const asked = { messages, reasoning_effort: 'high', max_tokens: 2000, temperature: 0.5 }
  const { request, losses } = convert('completions', 'converse', asked)
  expect(request.additionalModelRequestFields).toEqual({ thinking: { type: 'enabled', budget_tokens: 1999 } })
  expect(request.inferenceConfig).toEqual({ maxTokens: 2000 })
  expect(losses.map(({ path }) => path)).toEqual(['temperature'])
})

test('a call without arguments has empty ones in the stream, and no count of tokens is no reason to have no end', () => {
  const events = [
    ['messageStart', { role: 'assistant' }],
    ['contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 't', name: 'now' } } }],
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['messageStop', { stopReason: 'tool_use' }],
  ] as const
  expect(stream('completions', 'converse', events)).toContain('"arguments":"{}"')
  expect(stream('messages', 'converse', events)).toContain('event: message_stop')
})

test('a refusal is said once', () => {
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

test('thoughts of earlier turns are no reason to refuse a request for responses', () => {
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

test('a picture from the web for Gemini is a mistake of the request', () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  expect(() => convert('completions', 'generateContent', { messages: [{ role: 'user', content: [image] }] })).toThrow(
    /fetches nothing from the web/,
  )
})

test('a tool without parameters has an empty schema for Anthropic', () => {
  const tools = [{ type: 'function', function: { name: 'now' } }]
  const { request } = convert('completions', 'messages', { messages: [{ role: 'user', content: 'Hi' }], tools })
  expect(request.tools).toMatchObject([{ name: 'now', input_schema: { type: 'object' } }])
})
