// A local model for trying the gateway without a key: an OpenAI-compatible server that repeats what it is told.
// Usage: node examples/local-model.mjs [--port 0] [--delay 20]   prints its URL on stdout.
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: { port: { type: 'string', default: '0' }, delay: { type: 'string', default: '0' } },
})
const delay = Number(values.delay)
const MODELS = ['echo-small', 'echo-large']

const server = createServer((req, res) => {
  const path = new URL(req.url, 'http://localhost').pathname
  if (req.method === 'GET' && path === '/v1/models') return json(res, 200, models())
  if (req.method !== 'POST' || path !== '/v1/chat/completions') return fail(res, 404, `no such endpoint: ${path}`)
  const chunks = []
  req.on('data', chunk => chunks.push(chunk))
  req.on('end', () => {
    let request
    try {
      request = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    } catch {
      return fail(res, 400, 'the body is not JSON')
    }
    if (!Array.isArray(request.messages)) return fail(res, 400, 'messages must be a list')
    complete(request, res)
  })
})

function complete(request, res) {
  const said = textOf(request.messages.findLast(message => message.role === 'user'))
  const answer = `You said: ${said}`
  const words = answer.match(/\s*\S+/g) ?? []
  const usage = {
    prompt_tokens: request.messages.reduce((sum, message) => sum + wordsIn(textOf(message)), 0),
    completion_tokens: words.length,
    total_tokens: 0,
  }
  usage.total_tokens = usage.prompt_tokens + usage.completion_tokens
  const base = { id: 'chatcmpl-local', created: 0, model: String(request.model ?? 'echo-small') }
  if (request.stream === true)
    return stream(res, base, words, request.stream_options?.include_usage ? usage : undefined)
  const message = { role: 'assistant', content: answer, refusal: null }
  json(res, 200, {
    ...base,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage,
  })
}

async function stream(res, base, words, usage) {
  let open = true
  res.on('close', () => {
    open = false
  })
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const event = data => res.write(`data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...data })}\n\n`)
  const choice = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] })
  event(choice({ role: 'assistant', content: '' }))
  for (const content of words) {
    if (delay > 0) await new Promise(resolve => setTimeout(resolve, delay))
    if (!open) return
    event(choice({ content }))
  }
  event(choice({}, 'stop'))
  if (usage) event({ choices: [], usage })
  res.end('data: [DONE]\n\n')
}

function textOf(message) {
  const content = message?.content
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map(part => (typeof part.text === 'string' ? part.text : '')).join(' ')
}

function wordsIn(text) {
  return text.split(/\s+/).filter(Boolean).length
}

function models() {
  return { object: 'list', data: MODELS.map(id => ({ id, object: 'model', created: 0, owned_by: 'local' })) }
}

function json(res, status, value) {
  const body = JSON.stringify(value)
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
}

function fail(res, status, message) {
  json(res, status, { error: { message, type: 'invalid_request_error', param: null, code: null } })
}

server.listen(Number(values.port), '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`)
})
