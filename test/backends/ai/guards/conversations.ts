import { startGateway, type TestGatewayOptions } from '../../../helpers/gateway.ts'
import { type OpenAiServer, startOpenAiServer } from '../../../helpers/openai-server.ts'

export type Format = 'completions' | 'messages' | 'responses' | 'generateContent'
export const PATHS: Record<Format, string> = {
  completions: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  generateContent: '/v1beta/models/m:generateContent',
}
export const PROVIDERS: Record<Format, string> = {
  completions: 'openAI',
  messages: 'anthropic',
  responses: 'openAI',
  generateContent: 'gemini',
}

export function requestOf(format: Format, text: string): Record<string, unknown> {
  switch (format) {
    case 'completions':
      return { model: 'm', messages: [{ role: 'user', content: text }] }
    case 'messages':
      return { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'text', text }] }] }
    case 'responses':
      return { model: 'm', input: [{ role: 'user', content: [{ type: 'input_text', text }] }] }
    case 'generateContent':
      return { contents: [{ role: 'user', parts: [{ text }] }] }
  }
}

export function replyOf(format: Format, text: string): Record<string, unknown> {
  switch (format) {
    case 'completions':
      return {
        id: 'c',
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
      }
    case 'messages':
      return {
        id: 'c',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [{ type: 'text', text }],
        stop_reason: 'end_turn',
      }
    case 'responses':
      return {
        id: 'r',
        status: 'completed',
        model: 'm',
        output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] }],
      }
    case 'generateContent':
      return { candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP', index: 0 }] }
  }
}

const named = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

/** A stream that says `pieces`, one after the other. */
export function streamOf(format: Format, pieces: readonly string[]): string {
  const whole = pieces.join('')
  switch (format) {
    case 'completions': {
      const chunk = (delta: object, finish_reason: string | null = null) =>
        data({
          id: 'c',
          object: 'chat.completion.chunk',
          created: 1,
          model: 'm',
          choices: [{ index: 0, delta, finish_reason }],
        })
      const said = pieces.map(content => chunk({ content })).join('')
      return `${chunk({ role: 'assistant', content: '' })}${said}${chunk({}, 'stop')}data: [DONE]\n\n`
    }
    case 'messages':
      return [
        named('message_start', {
          message: { id: 'c', type: 'message', role: 'assistant', model: 'm', content: [], usage: {} },
        }),
        named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
        ...pieces.map(text => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
        named('content_block_stop', { index: 0 }),
        named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
        named('message_stop', {}),
      ].join('')
    case 'responses': {
      const at = { item_id: 'i', output_index: 0, content_index: 0 }
      const part = { type: 'output_text', text: whole, annotations: [] }
      const item = { id: 'i', type: 'message', role: 'assistant', content: [part] }
      let n = 0
      const event = (type: string, rest: object) => named(type, { sequence_number: n++, ...rest })
      return [
        event('response.created', { response: { id: 'r', model: 'm', output: [] } }),
        event('response.output_item.added', { output_index: 0, item: { ...item, content: [] } }),
        event('response.content_part.added', { ...at, part: { ...part, text: '' } }),
        ...pieces.map(delta => event('response.output_text.delta', { ...at, delta })),
        event('response.output_text.done', { ...at, text: whole }),
        event('response.content_part.done', { ...at, part }),
        event('response.output_item.done', { output_index: 0, item }),
        event('response.completed', { response: { id: 'r', model: 'm', status: 'completed', output: [item] } }),
      ].join('')
    }
    case 'generateContent': {
      const chunk = (text: string, rest: object = {}) =>
        data({ candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...rest }], modelVersion: 'm' })
      return pieces.map(text => chunk(text)).join('') + chunk('', { finishReason: 'STOP' })
    }
  }
}

/** All text that a stream says, and says again whole. */
export function textIn(format: Format, stream: string): { said: string; repeated: string[] } {
  let said = ''
  const repeated: string[] = []
  for (const line of stream.split('\n')) {
    if (!line.startsWith('data: {')) continue
    const event = JSON.parse(line.slice(6))
    if (format === 'completions') said += event.choices?.[0]?.delta?.content ?? ''
    else if (format === 'messages') said += event.delta?.text ?? ''
    else if (format === 'generateContent') said += event.candidates?.[0]?.content.parts[0].text ?? ''
    else {
      said += event.delta ?? ''
      for (const text of [
        event.text,
        event.part?.text,
        event.item?.content?.[0]?.text,
        event.response?.output?.[0]?.content[0].text,
      ])
        if (text) repeated.push(text)
    }
  }
  return { said, repeated }
}

/** A gateway with these `guardrails` before a provider of the named kind. */
export async function arrange(guardrails: string, provider = 'openAI', options: TestGatewayOptions = {}, more = '') {
  const upstream = await startOpenAiServer()
  const engine = await startGateway(
    `${more}
llm:
  port: 4000
  guardrails: ${guardrails}
  models: [{ name: "*", provider: ${provider}, params: { baseUrl: "${upstream.url}", model: m } }]
`,
    options,
  )
  return {
    upstream,
    engine,
    post: (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(engine.url(4000) + path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      }),
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

/** Answers every request with that reply, or with a stream of those pieces. */
export function says(upstream: OpenAiServer, format: Format, ...pieces: readonly string[]): void {
  upstream.answer((_req, res, body) => {
    const streamed = format === 'generateContent' ? _req.url?.includes('stream') : JSON.parse(body).stream === true
    res.setHeader('content-type', streamed ? 'text/event-stream' : 'application/json')
    res.end(streamed ? streamOf(format, pieces) : JSON.stringify(replyOf(format, pieces.join(''))))
  })
}
