// https://platform.claude.com/docs/en/api/messages, and the same on Vertex AI, where the path names the model.
import { pieces } from './openai.mjs'

const error = message => ({ type: 'error', error: { type: 'rate_limit_error', message }, request_id: 'req_1' })
const streamType = 'text/event-stream'

export const anthropic = [
  {
    path: /\/v1\/messages$/,
    type: 'MessagesRequest',
    wrong: ({ headers }) => headers['anthropic-version'] === undefined && 'anthropic-version: header is required',
    error,
    streams: (_, { stream }) => stream === true,
    streamType,
    reply: (said, { model }) => messageOf(said, model),
    stream: (said, { model }) => eventsOf(said, model),
  },
  {
    path: /:(?:streamR|r)awPredict$/,
    type: 'VertexMessages',
    error,
    streams: ({ url }) => url.includes(':streamRawPredict'),
    streamType,
    reply: said => messageOf(said, 'claude'),
    stream: said => eventsOf(said, 'claude'),
  },
]

function messageOf({ text, calls = [] }, model) {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: [
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
    ],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 7, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 3 },
  }
}

function* eventsOf(said, model) {
  const named = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const message = messageOf(said, model)
  const { content, stop_reason, stop_sequence, usage } = message
  yield named('message_start', {
    message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
  })
  yield named('ping')
  for (const [index, block] of content.entries()) {
    const tool = block.type === 'tool_use'
    yield named('content_block_start', {
      index,
      content_block: tool ? { ...block, input: {} } : { ...block, text: '' },
    })
    for (const piece of pieces(tool ? JSON.stringify(block.input) : block.text)) {
      const delta = tool ? { type: 'input_json_delta', partial_json: piece } : { type: 'text_delta', text: piece }
      yield named('content_block_delta', { index, delta })
    }
    yield named('content_block_stop', { index })
  }
  yield named('message_delta', { delta: { stop_reason, stop_sequence }, usage: { output_tokens: 3 } })
  yield named('message_stop')
}
