import { jsonReply, type StubCall, type StubReply } from './stub-transport.ts'

/** What a model answers. */
export interface LlmStub {
  /** `Hello.` when unset. */
  readonly text?: string
  /** 10 when unset. */
  readonly inputTokens?: number
  /** 2 when unset. */
  readonly outputTokens?: number
}

interface Said {
  readonly model: string
  readonly text: string
  readonly input: number
  readonly output: number
  readonly streaming: boolean
}

/** In the format that is asked for: by path, as the public APIs have them; chat completions of OpenAI otherwise. */
export function completionReply(stub: LlmStub, { path, body }: StubCall): StubReply {
  const asked = jsonIn(body)
  const said: Said = {
    model: typeof asked.model === 'string' ? asked.model : 'stub',
    text: stub.text ?? 'Hello.',
    input: stub.inputTokens ?? 10,
    output: stub.outputTokens ?? 2,
    streaming: asked.stream === true,
  }
  const at = path.split('?', 1)[0] as string
  const usage = asked.stream_options as { include_usage?: unknown } | undefined
  if (at.endsWith('/count_tokens')) return jsonReply({ input_tokens: said.input })
  if (at.endsWith('/messages')) return said.streaming ? messageStream(said) : jsonReply(message(said))
  if (at.endsWith('/responses')) return said.streaming ? responseStream(said) : jsonReply(response(said))
  if (at.endsWith('/embeddings')) return jsonReply(embedding(said))
  return said.streaming ? completionStream(said, usage?.include_usage === true) : jsonReply(completion(said))
}

function jsonIn(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function events(list: readonly unknown[], end = ''): StubReply {
  const named = (event: unknown) => (event as { type?: string }).type
  const text = list.map(event => {
    const type = named(event)
    return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`
  })
  return { status: 200, headers: [['content-type', 'text/event-stream']], body: text.join('') + end }
}

function completion({ model, text, ...said }: Said) {
  const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }
  return { ...COMPLETION, object: 'chat.completion', model, choices: [choice], usage: openAiUsage(said) }
}

const COMPLETION = { id: 'chatcmpl-stub', created: 0 }

function completionStream({ model, text, ...said }: Said, withUsage: boolean): StubReply {
  const chunk = (choices: readonly unknown[], more = {}) => ({
    ...COMPLETION,
    object: 'chat.completion.chunk',
    model,
    choices,
    ...more,
  })
  const list = [
    chunk([{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
    ...(withUsage ? [chunk([], { usage: openAiUsage(said) })] : []),
  ]
  return events(list, 'data: [DONE]\n\n')
}

function openAiUsage({ input, output }: Pick<Said, 'input' | 'output'>) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

function message({ model, text, input, output }: Said) {
  return {
    id: 'msg_stub',
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: input, output_tokens: output },
  }
}

function messageStream(said: Said): StubReply {
  const { output } = said
  const start = { ...message(said), content: [], stop_reason: null }
  return events([
    { type: 'message_start', message: start },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: said.text } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: output },
    },
    { type: 'message_stop' },
  ])
}

function response({ model, text, input, output }: Said) {
  const content = [{ type: 'output_text', text, annotations: [] }]
  return {
    id: 'resp_stub',
    object: 'response',
    created_at: 0,
    status: 'completed',
    model,
    output: [{ type: 'message', id: 'msg_stub', status: 'completed', role: 'assistant', content }],
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
  }
}

function responseStream(said: Said): StubReply {
  const whole = response(said)
  return events([
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_text.delta', item_id: 'msg_stub', output_index: 0, content_index: 0, delta: said.text },
    { type: 'response.completed', response: whole },
  ])
}

function embedding({ model, input }: Said) {
  return {
    object: 'list',
    model,
    data: [{ object: 'embedding', index: 0, embedding: [0, 0, 0] }],
    usage: { prompt_tokens: input, total_tokens: input },
  }
}
