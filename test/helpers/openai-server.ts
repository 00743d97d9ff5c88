import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Settles when the connection of this request goes away before the reply is complete. */
  readonly cutOff: Promise<void>
}

export interface OpenAiServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`, without a path. */
  readonly url: string
  readonly port: number
  readonly seen: SeenRequest[]
  /** Answers the next requests in place of the built-in behaviour. */
  answer(reply: (req: IncomingMessage, res: ServerResponse, body: string) => void): void
}

/** A server that behaves like the public API for chat completions and models, on a free port. */
export async function startOpenAiServer(): Promise<OpenAiServer> {
  const seen: SeenRequest[] = []
  const sockets = new Set<Socket>()
  let custom: ((req: IncomingMessage, res: ServerResponse, body: string) => void) | undefined
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    const cutOff = new Promise<void>(resolve =>
      res.on('close', () => {
        if (!res.writableFinished) resolve()
      }),
    )
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      seen.push({ method: req.method ?? '', path: req.url ?? '', headers: req.headers, body, cutOff })
      if (custom) custom(req, res, body)
      else builtIn(req, res, body)
    })
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seen,
    answer(reply) {
      custom = reply
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** The words of every completion that the built-in behaviour gives. */
export const ANSWER = ['Hello', ' from', ' the', ' model', ' – 你好']
export const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 5,
  total_tokens: 16,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
}

export function sendJson(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_1' }).end(JSON.stringify(value))
}

/** The events of a streamed completion, each one `data: …` with its blank line. */
export function completionEvents(model: string, includeUsage: boolean): string[] {
  const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model }
  const usage = includeUsage ? { usage: null } : {}
  const event = (data: object): string => `data: ${JSON.stringify({ ...base, ...data })}\n\n`
  return [
    event({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }], ...usage }),
    ...ANSWER.map(content => event({ choices: [{ index: 0, delta: { content }, finish_reason: null }], ...usage })),
    event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...usage }),
    ...(includeUsage ? [event({ choices: [], usage: USAGE })] : []),
    'data: [DONE]\n\n',
  ]
}

function builtIn(req: IncomingMessage, res: ServerResponse, body: string): void {
  const path = (req.url ?? '').split('?')[0]
  if (req.method === 'GET' && path === '/v1/models') {
    sendJson(res, 200, { object: 'list', data: [{ id: 'gpt-4o', object: 'model', created: 1, owned_by: 'openai' }] })
    return
  }
  if (req.method !== 'POST' || path !== '/v1/chat/completions') {
    sendJson(res, 404, { error: { message: `Invalid URL (${req.method} ${path})`, type: 'invalid_request_error' } })
    return
  }
  const request = JSON.parse(body) as { model: string; stream?: boolean; stream_options?: { include_usage?: boolean } }
  if (request.stream) {
    res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    for (const event of completionEvents(request.model, request.stream_options?.include_usage === true))
      res.write(event)
    res.end()
    return
  }
  const message = { role: 'assistant', content: ANSWER.join(''), refusal: null }
  sendJson(res, 200, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: `${request.model}-2026-01-01`,
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: USAGE,
  })
}
