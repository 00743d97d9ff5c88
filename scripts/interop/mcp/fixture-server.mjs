// long: three transports of two eras, which share their sessions and listeners
// The server of the MCP trials, without an SDK: Streamable HTTP, HTTP+SSE and stdio, in the eras that it is told.
//   node fixture-server.mjs http|sse|stdio [legacy|modern|both]; NAME, PORT and JOURNAL come from the environment
// Over HTTP it prints its port.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { answer, CAPABILITIES, InputRequired, RpcError, seal, unseal } from './fixture-tools.mjs'

const [transport = 'http', eras = 'both'] = process.argv.slice(2)
const NAME = process.env.NAME ?? transport
const MODERN = '2026-07-28'
const LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
const SUPPORTED = [...(eras === 'modern' ? [] : LEGACY), ...(eras === 'legacy' ? [] : [MODERN])]
const META = 'io.modelcontextprotocol/'
const INFO = { name: `fixture-${NAME}`, version: '1.0.0' }
const CACHED = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])

/** Everybody who hears of changes: sessions and subscriptions. */
const listeners = new Set()
const changed = kind => {
  for (const listener of listeners) listener.changed(kind)
}
const updated = uri => {
  for (const listener of listeners) listener.updated(uri)
}

// ---- 2026-07-28 ----

/** Answers one request; `say` takes what comes before the reply. */
async function modern({ id, method, params = {} }, say, signal) {
  const meta = params._meta ?? {}
  if (meta[`${META}protocolVersion`] === undefined || meta[`${META}clientCapabilities`] === undefined) {
    return failure(id, new RpcError(-32602, 'the request lacks `_meta`'))
  }
  if (!SUPPORTED.includes(MODERN) || meta[`${META}protocolVersion`] !== MODERN) {
    const data = { supported: SUPPORTED, requested: meta[`${META}protocolVersion`] }
    return failure(id, new RpcError(-32022, 'unsupported protocol version', data))
  }
  if (method === 'subscriptions/listen') return subscription(id, params, say, signal)
  const call = modernCall(params, say)
  try {
    const result =
      method === 'server/discover'
        ? { supportedVersions: SUPPORTED, capabilities: CAPABILITIES, instructions: `This is ${NAME}.` }
        : await answer(method, params, call)
    if (result === undefined) throw new RpcError(-32601, `Method not found: ${method}`)
    const cached = CACHED.has(method) ? { ttlMs: 60_000, cacheScope: 'public' } : {}
    return reply(id, { resultType: 'complete', ...cached, ...result, _meta: { [`${META}serverInfo`]: INFO } })
  } catch (error) {
    return error instanceof InputRequired ? reply(id, error.result) : failure(id, error)
  }
}

function modernCall(params, say) {
  const meta = params._meta
  const token = meta.progressToken
  const given = unsealLater(params.requestState)
  return {
    server: NAME,
    token,
    capabilities: meta[`${META}clientCapabilities`],
    progress(progress, total) {
      if (token !== undefined)
        say({ method: 'notifications/progress', params: { progressToken: token, progress, total } })
    },
    log(data) {
      if (meta[`${META}logLevel`] !== undefined)
        say({ method: 'notifications/message', params: { level: 'info', data } })
    },
    changed,
    updated,
    closeStream() {},
    /** What was remembered when `step` was asked for. */
    state: step => (given()?.step === step ? given().memory : undefined),
    async ask(requests, step, memory) {
      const known = given()
      const answers = params.inputResponses ?? {}
      const valid = Object.keys(requests).every(key => typeof answers[key] === 'object' && answers[key] !== null)
      if (valid && (step === undefined || known?.step === step)) return answers
      throw new InputRequired(requests, step === undefined ? undefined : seal({ step, memory }))
    },
  }
}

function unsealLater(sealed) {
  let state
  return () => (state ??= unseal(sealed))
}

function subscription(id, params, say, signal) {
  const wanted = params.notifications ?? {}
  const tag = { [`${META}subscriptionId`]: id }
  const flags = { tools: 'toolsListChanged', prompts: 'promptsListChanged', resources: 'resourcesListChanged' }
  const listener = {
    changed(kind) {
      if (wanted[flags[kind]]) say({ method: `notifications/${kind}/list_changed`, params: { _meta: tag } })
    },
    updated(uri) {
      if (wanted.resourceSubscriptions?.includes(uri))
        say({ method: 'notifications/resources/updated', params: { uri, _meta: tag } })
    },
  }
  say({ method: 'notifications/subscriptions/acknowledged', params: { notifications: wanted, _meta: tag } })
  listeners.add(listener)
  return new Promise(done => {
    signal.addEventListener('abort', () => {
      listeners.delete(listener)
      done(undefined)
    })
  })
}

// ---- 2024-11-05 to 2025-11-25 ----

class Session {
  id = randomUUID()
  capabilities = {}
  #asked = new Map()
  #serial = 0
  #subscribed = new Set()
  #level = 'info'

  /** `push(message)`: on the stream that belongs to no request. */
  constructor(push) {
    this.push = push
    listeners.add(this)
  }

  end() {
    listeners.delete(this)
  }

  changed(kind) {
    this.push({ jsonrpc: '2.0', method: `notifications/${kind}/list_changed` })
  }

  updated(uri) {
    if (this.#subscribed.has(uri))
      this.push({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } })
  }

  responded({ id, result, error }) {
    const asked = this.#asked.get(id)
    this.#asked.delete(id)
    if (error) asked?.reject(new RpcError(error.code, error.message))
    else asked?.resolve(result)
  }

  async answer({ id, method, params = {} }, say, closeStream = () => {}) {
    try {
      const result =
        (await this.#own(method, params)) ?? (await answer(method, params, this.#call(params, say, closeStream)))
      if (result === undefined) throw new RpcError(-32601, `Method not found: ${method}`)
      return reply(id, result)
    } catch (error) {
      return failure(id, error)
    }
  }

  #own(method, params) {
    switch (method) {
      case 'initialize':
        this.capabilities = params.capabilities ?? {}
        return {
          protocolVersion: LEGACY.includes(params.protocolVersion) ? params.protocolVersion : LEGACY.at(-1),
          capabilities: { ...CAPABILITIES, logging: {} },
          serverInfo: INFO,
          instructions: `This is ${NAME}.`,
        }
      case 'ping':
        return {}
      case 'logging/setLevel':
        this.#level = params.level
        return {}
      case 'resources/subscribe':
        this.#subscribed.add(params.uri)
        return {}
      case 'resources/unsubscribe':
        this.#subscribed.delete(params.uri)
        return {}
      default:
        return undefined
    }
  }

  #call(params, say, closeStream) {
    const token = params._meta?.progressToken
    return {
      server: NAME,
      token,
      capabilities: this.capabilities,
      progress(progress, total) {
        if (token !== undefined)
          say({ method: 'notifications/progress', params: { progressToken: token, progress, total } })
      },
      log: data => {
        if (this.#level === 'debug' || this.#level === 'info')
          say({ method: 'notifications/message', params: { level: 'info', data } })
      },
      changed,
      updated,
      closeStream,
      state: () => undefined,
      ask: async requests => {
        const answers = {}
        for (const [key, { method, params: asked }] of Object.entries(requests)) {
          const id = ++this.#serial
          const { promise, resolve, reject } = Promise.withResolvers()
          this.#asked.set(id, { resolve, reject })
          say({ id, method, params: asked })
          answers[key] = await promise
        }
        return answers
      },
    }
  }
}

// ---- transports ----

const sessions = new Map()

async function streamable(req, res, body) {
  const { headers } = req
  const version = headers['mcp-protocol-version']
  const inBody = body?.params?._meta?.[`${META}protocolVersion`]
  if (eras !== 'legacy' && (eras === 'modern' || version === MODERN || inBody !== undefined))
    return overHttp(req, res, body)
  if (version !== undefined && !LEGACY.includes(version)) return plain(res, 400, 'unsupported protocol version')
  const known = sessions.get(headers['mcp-session-id'])
  if (headers['mcp-session-id'] !== undefined && !known) return plain(res, 404, 'no such session')
  if (req.method === 'DELETE') {
    known?.end()
    sessions.delete(known?.id)
    return plain(res, 200, '')
  }
  if (req.method === 'GET') return known ? known.http.listen(req, res) : plain(res, 400, 'no session')
  if (!known && body?.method !== 'initialize') return plain(res, 400, 'no session')
  const session = known ?? beginHttp()
  if (body.method === undefined) session.responded(body)
  if (body.method === undefined || body.id === undefined) return plain(res, 202, '')
  const stream = session.http.stream(res, session.id, body.method === 'initialize' || version < '2025-11-25')
  stream.say(
    await session.answer(
      body,
      message => stream.say({ jsonrpc: '2.0', ...message }),
      () => stream.close(),
    ),
  )
  stream.end()
}

function beginHttp() {
  const http = resumable()
  const session = new Session(message => http.push(message))
  session.http = http
  sessions.set(session.id, session)
  return session
}

/** Streams of one session whose events are kept: a client that lost one takes it up again. */
function resumable() {
  const logs = new Map()
  let serial = 0
  const open = (res, session, quiet) => {
    const log = { name: ++serial, events: [], res, over: false }
    logs.set(log.name, log)
    head(res, session, log, quiet)
    return log
  }
  const head = (res, session, log, quiet) => {
    res.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    })
    if (!quiet) add(log, '')
  }
  const add = (log, data) => {
    const id = `${log.name}_${log.events.length + 1}`
    log.events.push(`id: ${id}\n${data === '' ? 'retry: 100\n' : 'event: message\n'}data: ${data}\n\n`)
    log.res?.write(log.events.at(-1))
  }
  const server = { name: 0, events: [], res: undefined, over: false }
  logs.set(0, server)
  return {
    push: message => add(server, JSON.stringify(message)),
    listen(req, res) {
      const [, name, number] = /^(\d+)_(\d+)$/.exec(req.headers['last-event-id'] ?? '') ?? []
      const log = logs.get(Number(name ?? 0))
      if (!log) return plain(res, 400, 'unknown event')
      log.res?.end()
      log.res = res
      res.on('close', () => {
        if (log.res === res) log.res = undefined
      })
      head(res, undefined, log, name !== undefined)
      for (const event of log.events.slice(name === undefined ? log.events.length : Number(number))) res.write(event)
      if (log.over) res.end()
    },
    stream(res, session, quiet) {
      const log = open(res, session, quiet)
      return {
        say: message => add(log, JSON.stringify(message)),
        close() {
          const { res: closing } = log
          log.res = undefined
          closing?.end()
        },
        end() {
          log.over = true
          log.res?.end()
        },
      }
    },
  }
}

const NAMED = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }

async function overHttp(req, res, body) {
  if (req.method !== 'POST') return plain(res, 405, '')
  if (body?.id === undefined) return plain(res, 202, '')
  const problem = mismatch(req.headers, body)
  if (problem) return json(res, 400, failure(body.id, problem))
  const gone = new AbortController()
  res.on('close', () => gone.abort())
  const say = message => {
    if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    res.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
  }
  const message = await modern(body, say, gone.signal)
  if (message === undefined) return
  if (res.headersSent) {
    say(message)
    res.end()
  } else json(res, STATUS[message.error?.code] ?? 200, message)
}

const STATUS = { [-32601]: 404, [-32020]: 400, [-32021]: 400, [-32022]: 400, [-32602]: 400 }

function mismatch(headers, { method, params = {} }) {
  const version = params._meta?.[`${META}protocolVersion`]
  const name = NAMED[method] && params[NAMED[method]]
  if (version === undefined) return undefined
  if (headers['mcp-protocol-version'] !== version) return new RpcError(-32020, 'the version differs')
  if (headers['mcp-method'] !== method) return new RpcError(-32020, 'the method differs')
  if (name !== undefined && unwrap(headers['mcp-name']) !== name) return new RpcError(-32020, 'the name differs')
  return undefined
}

function unwrap(value = '') {
  const [, wrapped] = /^=\?base64\?(.*)\?=$/.exec(value.trim()) ?? []
  return wrapped === undefined ? value.trim() : Buffer.from(wrapped, 'base64').toString()
}

function overSse(req, res, body, url) {
  if (req.method === 'GET' && url.pathname === '/sse') {
    const write = message => res.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
    const session = new Session(write)
    session.write = write
    session.gone = new AbortController()
    sessions.set(session.id, session)
    res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    res.write(`event: endpoint\ndata: /messages?sessionId=${session.id}\n\n`)
    res.on('close', () => {
      session.gone.abort()
      session.end()
      sessions.delete(session.id)
    })
    return
  }
  const session = sessions.get(url.searchParams.get('sessionId'))
  if (!session) return plain(res, 404, 'no such session')
  plain(res, 202, '')
  const say = message => session.write({ jsonrpc: '2.0', ...message })
  const isModern = body.params?._meta?.[`${META}protocolVersion`] !== undefined
  if (body.method === undefined) session.responded(body)
  else if (body.id === undefined) return
  else if (isModern && eras !== 'legacy')
    modern(body, say, session.gone.signal).then(done => done && session.write(done))
  else session.answer(body, say).then(session.write)
}

function overStdio() {
  const write = message => process.stdout.write(`${JSON.stringify(message)}\n`)
  const session = new Session(write)
  const open = new Map()
  createInterface({ input: process.stdin }).on('line', async line => {
    const message = JSON.parse(line)
    const { id, method, params = {} } = message
    if (method === undefined) session.responded(message)
    else if (method === 'notifications/cancelled') open.get(params.requestId)?.abort()
    if (method === undefined || id === undefined) return
    const gone = new AbortController()
    open.set(id, gone)
    const say = each => write({ jsonrpc: '2.0', ...each })
    const isModern = params._meta?.[`${META}protocolVersion`] !== undefined || method === 'server/discover'
    const only = eras === 'modern' || (eras === 'both' && isModern)
    const done = only ? await modern(message, say, gone.signal) : await session.answer(message, say)
    open.delete(id)
    if (done !== undefined && !gone.signal.aborted) write(done)
  })
  process.stdin.on('end', () => process.exit(0))
}

// ---- messages ----

function reply(id, result) {
  return { jsonrpc: '2.0', id, result }
}

function failure(id, error) {
  const { code = -32603, message, data } = error
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } }
}

function plain(res, status, body) {
  res.writeHead(status).end(body)
}

function json(res, status, message) {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(message))
}

if (transport === 'stdio') overStdio()
else {
  const server = createServer(async (req, res) => {
    const chunks = []
    for await (const chunk of req) chunks.push(chunk)
    const body = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString())
    const url = new URL(req.url, 'http://localhost')
    if (!/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(req.headers.host ?? '')) plain(res, 403, 'not this host')
    else if (transport === 'sse') overSse(req, res, body, url)
    else await streamable(req, res, body)
  })
  server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
}
