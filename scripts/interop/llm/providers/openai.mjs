// https://platform.openai.com/docs/api-reference: chat completions, responses and embeddings. Azure serves the same.
import { VECTOR } from '../tasks.mjs'

const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
const error = message => ({ error: { message, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } })
const event = value => `data: ${JSON.stringify(value)}\n\n`
const streams = (_, { stream }) => stream === true
const streamType = 'text/event-stream'

export const openai = [
  {
    path: /\/chat\/completions$/,
    type: 'OpenAI.ChatCompletionCreateParams',
    error,
    streams,
    streamType,
    reply({ text, calls }, { model }) {
      const message = { role: 'assistant', content: text ?? null, refusal: null }
      if (calls) message.tool_calls = calls.map(callOf)
      const choice = { index: 0, message, logprobs: null, finish_reason: calls ? 'tool_calls' : 'stop' }
      return { id: 'chatcmpl-1', object: 'chat.completion', created: 1_700_000_000, model, choices: [choice], usage }
    },
    *stream({ text, calls = [] }, { model, stream_options }) {
      const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model }
      const chunk = (delta, finish_reason = null) =>
        event({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] })
      yield chunk({ role: 'assistant', content: '' })
      for (const piece of pieces(text)) yield chunk({ content: piece })
      for (const [index, call] of calls.entries()) {
        const { id, type, function: asked } = callOf(call)
        yield chunk({ tool_calls: [{ index, id, type, function: { name: asked.name, arguments: '' } }] })
        for (const piece of pieces(asked.arguments))
          yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] })
      }
      yield chunk({}, calls.length > 0 ? 'tool_calls' : 'stop')
      if (stream_options?.include_usage) yield event({ ...head, choices: [], usage })
      yield 'data: [DONE]\n\n'
    },
  },
  {
    path: /\/responses$/,
    type: 'OpenAI.Responses.ResponseCreateParams',
    error,
    streams,
    streamType,
    reply: (said, body) => responseOf(said, body, 'completed'),
    *stream(said, body) {
      let sequence_number = 0
      const named = (type, more) => `event: ${type}\n${event({ type, sequence_number: sequence_number++, ...more })}`
      const response = responseOf(said, body, 'completed')
      yield named('response.created', { response: { ...response, status: 'in_progress', output: [], usage: null } })
      for (const [output_index, item] of response.output.entries()) yield* itemEvents(named, output_index, item)
      yield named('response.completed', { response })
    },
  },
  {
    path: /\/embeddings$/,
    type: 'OpenAI.EmbeddingCreateParams',
    error,
    reply: (_, { model, encoding_format }) => ({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: encoding_format === 'base64' ? base64(VECTOR) : VECTOR }],
      model,
      usage: { prompt_tokens: 1, total_tokens: 1 },
    }),
  },
]

export function* pieces(text = '') {
  const letters = [...text]
  for (let at = 0; at < letters.length; at += 4) yield letters.slice(at, at + 4).join('')
}

function callOf({ id, name, args }) {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } }
}

function base64(vector) {
  return Buffer.from(new Float32Array(vector).buffer).toString('base64')
}

function responseOf({ text, calls = [] }, { model }, status) {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  const message = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content }
  const items = calls.map(({ id, name, args }) => ({
    id: `fc_${id}`,
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name,
    arguments: JSON.stringify(args),
  }))
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    model,
    output: text === undefined ? items : [message, ...items],
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    temperature: 1,
    top_p: 1,
    metadata: {},
    usage: {
      input_tokens: 7,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 10,
    },
  }
}

function* itemEvents(named, output_index, item) {
  const at = { output_index, item_id: item.id }
  if (item.type === 'function_call') {
    const added = { ...item, status: 'in_progress', arguments: '' }
    yield named('response.output_item.added', { output_index, item: added })
    for (const delta of pieces(item.arguments)) yield named('response.function_call_arguments.delta', { ...at, delta })
    yield named('response.function_call_arguments.done', { ...at, name: item.name, arguments: item.arguments })
  } else {
    yield named('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', content: [] } })
    const [part] = item.content
    yield named('response.content_part.added', { ...at, content_index: 0, part: { ...part, text: '' } })
    for (const delta of pieces(part.text))
      yield named('response.output_text.delta', { ...at, content_index: 0, delta, logprobs: [] })
    yield named('response.output_text.done', { ...at, content_index: 0, text: part.text, logprobs: [] })
    yield named('response.content_part.done', { ...at, content_index: 0, part })
  }
  yield named('response.output_item.done', { output_index, item })
}
