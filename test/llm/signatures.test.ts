import { describe, expect, test } from 'vitest'
import type { ChatFormat } from '../../src/llm/chat/chat.ts'
import { Conversion } from '../../src/llm/chat/conversion.ts'
import type { JsonObject } from '../../src/llm/chat/json.ts'
import { CODECS } from '../../src/llm/formats/codecs.ts'

const facts = { id: 'id_1', model: 'm', created: 7, usage: true }
const signed = { functionCall: { name: 'now', args: {} }, thoughtSignature: 's+/=' }
const reply = {
  responseId: 'r',
  candidates: [{ content: { role: 'model', parts: [signed] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
}

const message = (role: string, content: unknown) => ({ role, content })
/** The next request of a client, with the calls of a reply and what came of them. */
const NEXT: Readonly<Partial<Record<ChatFormat, (reply: JsonObject) => JsonObject>>> = {
  completions({ choices }) {
    const { message: said } = (choices as { message: { tool_calls: { id: string }[] } }[])[0]!
    const result = { role: 'tool', tool_call_id: said.tool_calls[0]!.id, content: 'noon' }
    return { messages: [message('user', 'Time?'), said, result] }
  },
  messages({ content }) {
    const [{ id }] = content as [{ id: string }]
    const result = { type: 'tool_result', tool_use_id: id, content: 'noon' }
    return { messages: [message('user', 'Time?'), message('assistant', content), message('user', [result])] }
  },
  responses({ output }) {
    const items = output as { call_id: string }[]
    const result = { type: 'function_call_output', call_id: items[0]!.call_id, output: 'noon' }
    return { input: [message('user', 'Time?'), ...items, result] }
  },
}
const clients = Object.entries(NEXT) as [ChatFormat, (reply: JsonObject) => JsonObject][]

describe("Gemini's tool call signature", () => {
  test.each(clients)('is sent back with the next request of a %s client', (client, next) => {
    const { body } = new Conversion(CODECS[client], CODECS.generateContent).reply(reply, facts)
    const asked = next(JSON.parse(JSON.stringify(body)))
    const again = new Conversion(CODECS[client], CODECS.generateContent)
    const { contents } = again.request(asked, { model: 'gemini', stream: false })
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'Time?' }] },
      { role: 'model', parts: [signed] },
      { role: 'user', parts: [{ functionResponse: { name: 'now', response: { content: 'noon' } } }] },
    ])
    expect(again.losses.list).toEqual([])
  })

  test.each(clients)('is included in the stream of a %s client', client => {
    const stream = new Conversion(CODECS[client], CODECS.generateContent).stream(facts)
    expect(stream.push({ data: JSON.stringify(reply) }) + stream.end()).toContain('call_r_0__thought__s+/=')
  })

  test('is stripped for another provider and reported as a loss', () => {
    const { body } = new Conversion(CODECS.messages, CODECS.generateContent).reply(reply, facts)
    const other = new Conversion(CODECS.messages, CODECS.completions)
    const sent = other.request(NEXT.messages!(body), { model: 'gpt', stream: false })
    expect(JSON.stringify(sent)).not.toContain('__thought__')
    expect(other.losses.list).toEqual([
      { path: 'messages[1].content[0]', reason: "signed by another provider's model; signature dropped" },
    ])
  })
})
