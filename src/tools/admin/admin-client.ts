import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Failure } from '../../diagnostics/failure.ts'
import { systemClock } from '../../engine/clock.ts'
import type { Clock, Timer } from '../../runtime/runtime.ts'
import { connectionReason } from './connection-reason.ts'

/** The address of an admin server, and the route to it. */
export interface AdminServer {
  /** The base URL, from the perspective of its own machine; `unix:` for a socket. */
  readonly url: URL
  /** Its display name, without the credentials that a URL may contain. */
  readonly name: string
  /** The machine whose ports are the gateway's, if reachable from here. */
  readonly host: string | undefined
  /** Opens the connections if the URL alone is not enough. */
  readonly agent?: Agent
  /** `NAMESPACE/NAME` of the pod that it was reached through, if any. */
  readonly pod?: string
  /** Overrides the usual help for an unreachable server. */
  readonly help?: string
  /** Idle timeout in ms; 10 s when unset. */
  readonly patience?: number
}

/** An admin server at a URL. */
export function adminServerAt(url: URL): AdminServer {
  if (url.protocol === 'unix:') return { url, name: url.href, host: '127.0.0.1' }
  const name = `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`
  return { url, name, host: url.hostname.replace(/^\[(.*)\]$/, '$1') }
}

/** The idle timeout before and during a response, in ms. */
export interface Patience {
  readonly ms: number
  readonly clock: Clock
}

const REPLY_TIMEOUT = 10_000

/** The idle timeout of a server. */
export function timeoutOf({ patience = REPLY_TIMEOUT }: AdminServer, clock: Clock = systemClock): Patience {
  return { ms: patience, clock }
}

/** Bytes of a response. Dumps of thousands of routes take a tenth of it. */
const MAX_BYTES = 256 * 1024 * 1024

export interface AskOptions {
  readonly method?: 'GET' | 'POST'
  /** Cancels the request. */
  readonly signal?: AbortSignal
  /** The server's own when unset. */
  readonly patience?: Patience
}

/** A JSON response of an admin server. Throws a Failure: `unreachable`, or `timeout`. */
export async function getJson(admin: AdminServer, path: string): Promise<unknown> {
  const body = String(await getBytes(admin, path))
  try {
    return JSON.parse(body)
  } catch {
    throw notAnAdminServer(admin, path, 'answered with something else than JSON')
  }
}

/**
 * The bytes of an admin server's response. Throws a Failure: `unreachable`, `timeout`, or `usage` with the server's
 * message.
 */
export async function getBytes(admin: AdminServer, path: string, options: AskOptions = {}): Promise<Buffer> {
  const reply = await send(admin, path, options)
  return readWhole(admin, reply, options.patience).catch((error: unknown) => {
    if (error instanceof Failure) throw error
    throw new Failure('unreachable', `the connection to ${admin.name} broke: ${connectionReason(error)}.`, {
      cause: error,
    })
  })
}

/** Whether the gateway serves its configuration, and its own message if not. */
export async function getReadiness(
  admin: AdminServer,
  patience?: Patience,
): Promise<{ readonly ready: boolean; readonly words: string }> {
  const reply = await call(admin, 'healthz/ready', patience === undefined ? {} : { patience })
  const words = await wordsOf(admin, reply, patience)
  if (reply.statusCode === 200) return { ready: true, words }
  if (reply.statusCode === 500 && words.startsWith('not ready')) return { ready: false, words }
  throw refused(admin, 'healthz/ready', reply, words)
}

/** The parameters of a trace stream; see `gwctl trace`. */
export interface TraceRequest {
  readonly expression?: string
  /** The number of requests to follow, and for how many seconds. Unset: one request, without a time limit. */
  readonly follow?: { readonly requests: number; readonly seconds: number }
}

/** Why a stream ended normally. */
export type TraceEnd = 'requests' | 'time' | 'shutdown' | 'filter'

export interface TraceConnection {
  /** The JSON text of each event. Returns why the stream ended; throws a Failure `unreachable` if it broke. */
  readonly events: AsyncGenerator<string, TraceEnd, undefined>
  /** Ends `events` at once. */
  close(): void
}

export interface TraceOptions {
  /** Cancels the request. */
  readonly signal?: AbortSignal
  /** The server's own when unset. It also applies during the stream: a server sends something every second. */
  readonly patience?: Patience
}

/**
 * Connects to `/debug/trace` and resolves once the server is watching. Throws a Failure: `unreachable`, or `usage` with
 * the server's message if it rejects the request.
 */
export async function openTrace(
  admin: AdminServer,
  request: TraceRequest,
  { signal, patience = timeoutOf(admin) }: TraceOptions = {},
): Promise<TraceConnection> {
  const query = new URLSearchParams()
  if (request.expression !== undefined) query.set('expression', request.expression)
  if (request.follow) {
    query.set('follow', String(request.follow.requests))
    query.set('seconds', String(request.follow.seconds))
  }
  const { EventSource } = await import('eventsource')
  const inbox = new Inbox(request.follow === undefined)
  let asked = false
  let problem: Failure | undefined
  /**
   * EventSource reconnects whenever a stream ends, even normally. Here that would silently arm a second trace, so there
   * is only one request: further ones get 204, which tells EventSource to stop. POST, because the public system accepts
   * nothing else.
   */
  const fetchOnce = async (_url: string | URL, init: { readonly signal?: AbortSignal }) => {
    if (asked) return response(204, admin)
    asked = true
    try {
      const path = query.size === 0 ? 'debug/trace' : `debug/trace?${query}`
      const reply = await send(admin, path, { method: 'POST', patience, ...(init.signal && { signal: init.signal }) })
      return response(200, admin, reply.headers['content-type'], inbox.throttled(reply, patience))
    } catch (error) {
      if (error instanceof Failure) problem = error
      return response(500, admin)
    }
  }
  const source = new EventSource(target(admin, 'debug/trace').href, {
    fetch: fetchOnce,
    maxBufferSize: 64 * 1024 * 1024,
  })
  source.addEventListener('message', event => inbox.put(String(event.data)))
  source.addEventListener('end', event => inbox.end(endReason(String(event.data))))
  await new Promise<void>((resolve, reject) => {
    source.addEventListener('open', () => resolve())
    const giveUp = () => {
      close(source, inbox)
      reject(new Failure('unreachable', `stopped waiting for ${admin.name}.`))
    }
    signal?.addEventListener('abort', giveUp)
    source.addEventListener('error', event => {
      // The signal outlives many connections.
      signal?.removeEventListener('abort', giveUp)
      source.close()
      inbox.end(undefined)
      reject(problem ?? notAnAdminServer(admin, 'debug/trace', `answered with no event stream (${event.message})`))
    })
  })
  return { events: inbox.read(admin), close: () => close(source, inbox) }
}

function close(source: { close(): void }, inbox: Inbox): void {
  source.close()
  inbox.end('requests')
}

/** Buffers events between the connection and its consumer, with back-pressure. */
class Inbox {
  /** A single request was asked for: the stream ends with it, without an event that says so. */
  readonly #single: boolean
  #waiting: string[] = []
  #ended = false
  #end: TraceEnd | undefined
  #finished = false
  #wake: () => void = () => {}
  #room: () => void = () => {}

  constructor(single: boolean) {
    this.#single = single
  }

  put(text: string): void {
    this.#waiting.push(text)
    // The public system does not support `follow` and does not number events: it always ends after one request.
    if (text.includes('"requestFinished"')) this.#finished = this.#single || !text.includes('"seq"')
    this.#wake()
  }

  /** undefined: the connection ended, for whatever reason. */
  end(reason: TraceEnd | undefined): void {
    this.#ended = true
    this.#end ??= reason
    this.#wake()
    this.#room()
  }

  async *read(admin: AdminServer): AsyncGenerator<string, TraceEnd, undefined> {
    for (;;) {
      const batch = this.#waiting
      this.#waiting = []
      this.#room()
      yield* batch
      if (this.#waiting.length > 0) continue
      if (this.#ended) break
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    if (this.#end !== undefined) return this.#end
    if (this.#finished) return 'requests'
    throw new Failure('unreachable', `the connection to ${admin.name} broke before the trace was complete.`, {
      help: 'The gateway may have stopped: look at its log.',
    })
  }

  /** The body for EventSource, paused while events are buffered. */
  throttled(reply: IncomingMessage, patience: Patience) {
    const chunks = reply[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
    const read = async () => {
      while (this.#waiting.length > 0 && !this.#ended) {
        await new Promise<void>(resolve => {
          this.#room = resolve
        })
      }
      // A broken connection ends the stream; the events received decide whether it was complete.
      const silent = patience.clock.after(patience.ms, () => reply.destroy())
      const next = await chunks.next().catch(() => ({ done: true as const, value: undefined }))
      silent.cancel()
      return next.done === true
        ? { done: true as const, value: undefined }
        : { done: false as const, value: next.value }
    }
    return {
      getReader: () => ({
        read,
        cancel: async () => {
          reply.destroy()
        },
      }),
    }
  }
}

/** The subset of Response that EventSource uses. */
function response(status: number, admin: AdminServer, type?: string, body?: ReturnType<Inbox['throttled']>) {
  const get = (name: string) => (name.toLowerCase() === 'content-type' ? (type ?? null) : null)
  return { status, url: admin.url.href, redirected: false, headers: { get }, body: body ?? null }
}

function endReason(data: string): TraceEnd {
  const [, reason] = /"reason":"(requests|time|shutdown|filter)"/.exec(data) ?? []
  return (reason as TraceEnd | undefined) ?? 'requests'
}

/** Resolves with the head of a 200 response; any other one is a Failure with the server's own message. */
async function send(admin: AdminServer, path: string, options: AskOptions): Promise<IncomingMessage> {
  const reply = await call(admin, path, options)
  if (reply.statusCode === 200) return reply
  // After the reason comes usage text for the server, which the command's own help covers better.
  const [words = ''] = (await wordsOf(admin, reply, options.patience)).split(/\r?\n\r?\n/)
  throw refused(admin, path, reply, words)
}

/** Resolves with the head of any response. */
async function call(admin: AdminServer, path: string, options: AskOptions): Promise<IncomingMessage> {
  const { method = 'GET', signal } = options
  const { ms, clock } = options.patience ?? timeoutOf(admin)
  const url = target(admin, path)
  const unix = admin.url.protocol === 'unix:' ? { socketPath: admin.url.pathname, host: 'localhost' } : {}
  const start = url.protocol === 'https:' ? (await import('node:https')).request : requestHttp
  let waiting: Timer | undefined
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    // A connection of its own, so that the process can end as soon as the response is read.
    const sent = start(url, { method, agent: admin.agent ?? false, ...unix, ...(signal ? { signal } : {}) }, resolve)
    sent.on('error', error => reject(error instanceof Failure ? error : unreachable(admin, error)))
    waiting = clock.after(ms, () => sent.destroy(silent(admin, `does not answer within ${ms / 1000} s`)))
    sent.end()
  })
  return head.finally(() => waiting?.cancel())
}

/** A server that accepts connections but does not respond, as opposed to an unreachable one. */
function silent(admin: AdminServer, what: string): Failure {
  return new Failure('timeout', `${admin.name} ${what}.`, {
    help: `If it is busy, wait longer with --timeout. ${admin.help ?? 'If it is not an admin server, name another one with --admin URL or GWCTL_ADMIN.'}`,
  })
}

async function readWhole(admin: AdminServer, reply: IncomingMessage, patience?: Patience): Promise<Buffer> {
  const { ms, clock } = patience ?? timeoutOf(admin)
  const chunks: Buffer[] = []
  let length = 0
  const stalled = () => silent(admin, `has stopped in the middle of its answer, for ${ms / 1000} s`)
  const listen = () => clock.after(ms, () => reply.destroy(stalled()))
  let waiting = listen()
  try {
    for await (const chunk of reply) {
      chunks.push(chunk as Buffer)
      length += (chunk as Buffer).length
      if (length > MAX_BYTES) throw new Error(`more than ${MAX_BYTES / 1024 / 1024} MiB came`)
      waiting.cancel()
      waiting = listen()
    }
  } finally {
    waiting.cancel()
  }
  return Buffer.concat(chunks)
}

/** The message of an error response; empty if the connection breaks first. */
async function wordsOf(admin: AdminServer, reply: IncomingMessage, patience?: Patience): Promise<string> {
  return String(await readWhole(admin, reply, patience).catch(() => '')).trim()
}

/** `path` below the base, with or without its trailing slash. A Unix socket has no hostname. */
function target({ url }: AdminServer, path: string): URL {
  const base = url.protocol === 'unix:' ? 'http://localhost/' : url.href.replace(/[?#].*$/, '').replace(/\/*$/, '/')
  return new URL(path, base)
}

function unreachable(admin: AdminServer, error: Error): Failure {
  return new Failure('unreachable', `no gateway answers at ${admin.name}: ${connectionReason(error)}.`, {
    help:
      admin.help ??
      'Is `gwctl run` running, and is that its admin address (`config.adminAddr`)? Name another one with --admin URL or GWCTL_ADMIN.',
    cause: error,
  })
}

function refused(admin: AdminServer, path: string, reply: IncomingMessage, words: string): Failure {
  const status = reply.statusCode ?? 0
  // An admin server reports a wrong parameter in plain text. A listener's 400 concerns something else.
  const plain = !/json|html/i.test(reply.headers['content-type'] ?? '')
  if (status === 400 && path.includes('?') && plain) return new Failure('usage', words)
  const first = words.split('\n', 1)[0] ?? ''
  if (status === 403 || status === 429)
    return new Failure('unreachable', `${admin.name} refuses: ${first || `status ${status}`}.`)
  return notAnAdminServer(admin, path, `answered ${status}${first === '' ? '' : ` (${first.slice(0, 200)})`}`)
}

/** Another kind of server responds there. */
export function notAnAdminServer(admin: AdminServer, path: string, what: string): Failure {
  const name = path.replace(/^\/?/, '/').replace(/\?.*$/, '')
  return new Failure('unreachable', `${admin.name} ${what} for ${name}.`, {
    help: 'Is that the admin address of a gateway, and not one of its listeners?',
  })
}
