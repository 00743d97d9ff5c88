// A client that loses nothing by itself: it knows one session for all its life, takes a stream up where it broke off,
// and comes back until it is let in. It counts what reaches it.
import { request as httpRequest } from 'node:http'

/** ms that it tries to get back to what it has begun. */
const PATIENCE = 60_000
const VERSION = '2025-11-25'
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

export class Client {
  #port
  #serial = 0
  #session
  #closed = false
  /** Requests that were refused because the session is not known. */
  refused = 0

  constructor(port) {
    this.#port = port
  }

  async begin() {
    const client = { capabilities: {}, clientInfo: { name: 'chaos', version: '1' } }
    const call = this.#call('initialize', { protocolVersion: VERSION, ...client })
    const { result } = (await call.done).reply
    if (result?.protocolVersion === undefined) throw new Error('the session has not begun')
    const text = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    await new Promise(resolve => this.#send('POST', {}, text, res => resolve(res.resume()), resolve))
  }

  /** A call of the tool `numbered`; `begun` once it has made progress, `done` with all that was heard. */
  numbered(target, n, { steps, ms }) {
    return this.#call('tools/call', {
      name: `${target}_numbered`,
      arguments: { n, steps, ms },
      _meta: { progressToken: `token-${n}` },
    })
  }

  close() {
    this.#closed = true
  }

  #call(method, params) {
    const id = ++this.#serial
    const heard = { replies: [], progress: [], takenUp: 0, reply: undefined }
    const begun = Promise.withResolvers()
    const done = Promise.withResolvers()
    let last
    const until = Date.now() + PATIENCE
    const end = () => {
      begun.resolve()
      done.resolve(heard)
    }
    const attempt = (verb, headers, text) => {
      const again = async () => {
        if (heard.replies.length > 0) return end()
        if (last === undefined || this.#closed || Date.now() > until) {
          heard.reply ??= { lost: true }
          heard.reply.tries = heard.takenUp
          return end()
        }
        await pause(200)
        heard.takenUp++
        attempt('GET', { 'last-event-id': last })
      }
      this.#send(
        verb,
        headers,
        text,
        res => {
          if (res.statusCode === 404) this.refused++
          this.#session ??= res.headers['mcp-session-id']
          if (res.statusCode !== 200) heard.reply = { status: res.statusCode }
          if (res.statusCode >= 400 && res.statusCode < 500) last = undefined
          let broken = false
          const over = () => {
            if (!broken) again()
            broken = true
          }
          read(res, (event, message) => {
            if (event !== undefined) last = event
            if (message === undefined) return
            begun.resolve()
            if (message.method === 'notifications/progress') heard.progress.push(message.params.progress)
            if (message.id !== id) return
            heard.replies.push(message)
            heard.reply = message
          })
          res.on('end', over).on('error', over).on('close', over)
        },
        again,
      )
    }
    attempt('POST', {}, JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return { begun: begun.promise, done: done.promise }
  }

  #send(method, headers, text, then, failed) {
    const req = httpRequest({
      host: '127.0.0.1',
      port: this.#port,
      path: '/mcp',
      method,
      agent: false,
      headers: {
        host: 'localhost',
        accept: 'application/json, text/event-stream',
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session, 'mcp-protocol-version': VERSION }),
        ...headers,
      },
    })
    let answered = false
    req.on('response', res => {
      answered = true
      then(res)
    })
    req.on('error', () => {
      if (!answered) failed()
    })
    req.end(text)
  }
}

/** One call of 2026-07-28, which nobody can take up. */
export function statelessCall(port, target, n, { steps, ms }) {
  const name = `${target}_numbered`
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    progressToken: `token-${n}`,
  }
  const params = { name, arguments: { n, steps, ms }, _meta: meta }
  const heard = { replies: [], progress: [], takenUp: 0, reply: undefined }
  const begun = Promise.withResolvers()
  const done = Promise.withResolvers()
  const headers = {
    host: 'localhost',
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
  }
  const over = () => {
    heard.reply ??= { lost: true }
    begun.resolve()
    done.resolve(heard)
  }
  httpRequest({ host: '127.0.0.1', port, path: '/mcp', method: 'POST', agent: false, headers })
    .on('response', res => {
      const stream = res.headers['content-type']?.startsWith('text/event-stream')
      const take = message => {
        begun.resolve()
        if (message?.method === 'notifications/progress') heard.progress.push(message.params.progress)
        if (message?.id !== n) return
        heard.replies.push(message)
        heard.reply = message
      }
      if (stream) read(res, (_event, message) => take(message))
      else whole(res, take)
      res.on('end', over).on('error', over).on('close', over)
    })
    .on('error', over)
    .end(JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params }))
  return { begun: begun.promise, done: done.promise }
}

function whole(res, take) {
  let text = ''
  res.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  res.on('end', () => take(text === '' ? undefined : JSON.parse(text)))
}

function read(res, take) {
  let text = ''
  res.setEncoding('utf8').on('data', chunk => {
    text += chunk
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const frame = text.slice(0, end)
      text = text.slice(end + 2)
      const event = /^id: ?(.*)$/m.exec(frame)?.[1]
      const data = /^data: ?(\{.*)$/m.exec(frame)?.[1]
      if (event !== undefined || data !== undefined) take(event, data === undefined ? undefined : JSON.parse(data))
    }
  })
}
