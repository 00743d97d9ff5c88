import { expect, test } from 'vitest'
import { startGateway } from '../../helpers/gateway.ts'
import { sendJson, startOpenAiServer } from '../../helpers/openai-server.ts'

async function open() {
  const upstream = await startOpenAiServer()
  upstream.answer((_req, res) =>
    sendJson(res, 200, {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [{ type: 'tool_use', id: 'call_0', name: 'now', input: { zone: 'UTC' } }],
      stop_reason: 'tool_use',
      usage: { input_tokens: 3, output_tokens: 2 },
    }),
  )
  const gateway = await startGateway(`llm:
  port: 4000
  models:
  - {name: "*", provider: anthropic, params: {baseUrl: "${upstream.url}"}}
`)
  const ask = async (body: object) => {
    const reply = await fetch(`${gateway.url(4000)}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', ...body }),
    })
    return { status: reply.status, body: JSON.parse(await reply.text()) }
  }
  return {
    ask,
    upstream,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

const question = { role: 'user', content: 'What time is it?' }
const answer = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'noon' })

test('an item issued by the gateway can be referenced', async () => {
  await using open_ = await open()
  const first = await open_.ask({ input: [question] })
  const [item] = first.body.output
  expect(item).toMatchObject({ type: 'function_call', call_id: 'call_0', name: 'now' })
  // Not the provider’s, which others could guess.
  expect(item.id).toMatch(/^fc_resp_[0-9a-f]{32}_0$/)
  const next = await open_.ask({ input: [question, { type: 'item_reference', id: item.id }, answer('call_0')] })
  expect(next.status).toBe(200)
  expect(JSON.parse(open_.upstream.seen[1]?.body ?? '').messages.slice(1)).toEqual([
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call_0', name: 'now', input: { zone: 'UTC' } }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'noon' }],
    },
  ])
})

test.each([
  ['a client with store: false', { store: false }, undefined],
  ['an unknown item', {}, 'fc_resp_00000000000000000000000000000000_0'],
  ['an id that is not a string', {}, 7],
])('%s: rejects the reference', async (_what, first, id) => {
  await using open_ = await open()
  const [item] = (await open_.ask({ input: [question], ...first })).body.output
  const { status, body } = await open_.ask({ input: [question, { type: 'item_reference', id: id ?? item.id }] })
  expect(status).toBe(400)
  expect(body.error.message).toContain('send the item itself')
})
