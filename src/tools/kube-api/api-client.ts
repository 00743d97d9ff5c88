import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { type Agent, type RequestOptions, request as requestHttps } from 'node:https'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { type KubeConfig, Watch } from '@kubernetes/client-node'
import { Failure } from '../../diagnostics/failure.ts'
import { visible } from '../../diagnostics/visible.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import { connectionReason } from '../admin/connection-reason.ts'
import { connectionTo, credentialFailure } from './connection.ts'
import type { KubeContext } from './kubeconfig.ts'
import { handshake, proves } from './web-socket.ts'

/** An unexpected response of an API server. */
export interface Refusal {
  readonly status: number
  /** The server's own message. */
  readonly message: string
}

export type Answer = { readonly value: Fields } | { readonly refusal: Refusal }
export type Upgrade = { readonly stream: Duplex; readonly head: Buffer } | { readonly refusal: Refusal }

export interface WatchEvent {
  readonly type: string
  readonly object: Fields
}

/** Why a watch ended; empty if the server closed it normally. */
export interface WatchEnd {
  readonly status?: number
  readonly reason?: string
}

export interface ClientOptions {
  /** Timeout in ms for a complete response. */
  readonly timeout: number
  /** Bytes of a response. */
  readonly maxAnswer: number
}

/** Large enough for any real list, though not for 500 objects of the maximum size that Kubernetes stores. */
const DEFAULTS: ClientOptions = { timeout: 30_000, maxAnswer: 128 * 1024 * 1024 }
/** A busy server says when to retry. */
const ATTEMPTS = 4
const LONGEST_PAUSE = 10_000
/** Concurrent connections for calls. */
const CONNECTIONS = 8
/** ms that credentials are kept; then tokens are read again, and plugins run whose credential has expired. */
const KEPT = 60_000
/** ms without a byte, bookmarks included, after which a watch is considered dead. */
const SILENCE = 90_000
/** Seconds after which the API server ends a watch. */
const WATCHED = 600
const RIGHT_ONE = 'Is it the right --context, and is the cluster up?'

/** Calls to one API server. Throws a Failure if it is unreachable or rejects the credentials. */
export class ApiClient {
  readonly namespace: string
  readonly #context: KubeContext
  readonly #server: URL
  readonly #options: ClientOptions
  #config: KubeConfig
  #credentials: { readonly options: RequestOptions; readonly until: number } | undefined

  constructor(context: KubeContext, options: Partial<ClientOptions> = {}) {
    this.#context = context
    this.#config = connectionTo(context)
    this.#server = new URL(this.#config.getCurrentCluster()!.server)
    this.namespace = context.namespace
    this.#options = { ...DEFAULTS, ...options }
  }

  get(path: string): Promise<Answer> {
    return this.send('GET', path)
  }

  /** A PATCH is a server-side apply. */
  async send(method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: object): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const type = method === 'PATCH' ? APPLY : 'application/json'
    const more = text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) }
    for (let attempt = 1; ; attempt++) {
      const reply = await this.#authorized(async signal => {
        const sent = await this.#request({ method, path, headers: more, signal })
        return this.#read(await answered(sent, text))
      })
      const { status, headers } = reply
      const value = parse(reply.text)
      if (status >= 200 && status < 300 && value) return { value }
      const wait = Number(headers['retry-after'])
      if ((status === 429 || status === 503) && wait >= 0 && attempt < ATTEMPTS) {
        await pause(Math.min(wait * 1000, LONGEST_PAUSE))
        continue
      }
      if (status === 200) throw this.#failed('answered with something else than JSON')
      return { refusal: this.#refusal(status, reply.text) }
    }
  }

  /** Opens a WebSocket with a subprotocol (RFC 6455). `head` has the bytes that arrived early. */
  async upgrade(path: string, protocol: string): Promise<Upgrade> {
    const opening = handshake(protocol)
    const reply = await this.#authorized<Upgraded | Reply>(async signal => {
      const got = await upgraded(await this.#request({ method: 'GET', path, headers: opening.headers, signal }))
      return 'stream' in got ? got : this.#read(got)
    })
    if (!('stream' in reply)) return { refusal: this.#refusal(reply.status, reply.text) }
    const problem = proves(reply.headers, opening)
    if (problem === undefined) return reply
    reply.stream.destroy()
    throw this.#failed(problem)
  }

  /** Reports changes after `version` until the watch ends. */
  async watch(path: string, version: string, on: (event: WatchEvent) => void, signal: AbortSignal): Promise<WatchEnd> {
    // Its default timeout is shorter than the interval between two bookmarks, and not configurable.
    const watch = new Watch(this.#config)
    Reflect.set(watch, 'requestTimeoutMs', SILENCE)
    const query = { resourceVersion: version, allowWatchBookmarks: true, timeoutSeconds: WATCHED }
    const { promise, resolve: ended } = Promise.withResolvers<WatchEnd>()
    const receive = (type: string, object: unknown) => on({ type, object: asFields(object) ?? {} })
    const request = await watch.watch(path, query, receive, error => ended(endOf(error)))
    const stop = () => request.abort()
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    const end = await promise
    signal.removeEventListener('abort', stop)
    if (end.status === 401) this.#renew()
    return end
  }

  close(): void {
    agentOf(this.#credentials?.options)?.destroy()
  }

  /** Work with credentials that may have expired. */
  async #authorized<T extends Upgraded | Reply>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const known = this.#credentials
    const reply = await this.#within(work)
    if (!('status' in reply) || reply.status !== 401 || known === undefined) return reply
    if (this.#credentials === known) this.#renew()
    return this.#within(work)
  }

  #renew(): void {
    this.#config = connectionTo(this.#context)
    this.#credentials = undefined
  }

  /** Work limited by the timeout, whose error names the request. */
  async #within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    await this.#access()
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(), this.#options.timeout)
    try {
      return await work(stop.signal)
    } catch (error) {
      if (error instanceof Failure) throw error
      if (stop.signal.aborted) {
        throw new Failure('timeout', `${this.#shown} gave no answer within ${this.#options.timeout / 1000} s.`, {
          help: RIGHT_ONE,
        })
      }
      throw this.#failed(connectionReason(error), error)
    } finally {
      clearTimeout(timer)
    }
  }

  /** The credentials, in the form of `node:https`. */
  async #access(): Promise<RequestOptions> {
    const now = performance.now()
    if (this.#credentials && this.#credentials.until > now) return this.#credentials.options
    const options: RequestOptions = {}
    try {
      await this.#config.applyToHTTPSOptions(options)
    } catch (error) {
      throw credentialFailure(error, this.#context)
    }
    // The library would open a connection for each call.
    Object.assign(agentOf(options) ?? {}, { keepAlive: true, maxSockets: CONNECTIONS })
    // A file with a token ends with a line break.
    const headers = Object.entries(options.headers ?? {}).map(([name, value]) => [name, String(value).trim()])
    this.#credentials = { options: { ...options, headers: Object.fromEntries(headers) }, until: now + KEPT }
    return this.#credentials.options
  }

  async #request({ path, headers, ...call }: Call): Promise<ClientRequest> {
    const access = await this.#access()
    const url = new URL(`${this.#server.pathname.replace(/\/$/, '')}${path}`, this.#server)
    const all = { ...access, ...call, headers: { accept: 'application/json', ...access.headers, ...headers } }
    return url.protocol === 'http:' ? requestHttp(url, all) : requestHttps(url, all)
  }

  async #read(reply: IncomingMessage): Promise<Reply> {
    const { maxAnswer } = this.#options
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of reply as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > maxAnswer) {
        const help = 'Read one namespace at a time with -n.'
        throw new Failure('unreachable', `${this.#shown} answered with more than ${maxAnswer} bytes.`, { help })
      }
      chunks.push(chunk)
    }
    return { status: reply.statusCode ?? 0, headers: reply.headers, text: Buffer.concat(chunks).toString() }
  }

  #refusal(status: number, text: string): Refusal {
    if (status === 401) {
      throw new Failure('unreachable', `${this.#shown} does not take the credentials of the kubeconfig (401).`, {
        help: 'They may have expired: log in again.',
      })
    }
    return { status, message: visible(asText(parse(text)?.message) ?? text.split('\n', 1)[0]!).slice(0, 500) }
  }

  get #shown(): string {
    return `the API server ${this.#server.origin} (context ${this.#context.name})`
  }

  #failed(what: string, cause?: unknown): Failure {
    return new Failure('unreachable', `${this.#shown} cannot be asked: ${what}.`, {
      help: RIGHT_ONE,
      cause,
    })
  }
}

/** Server-side apply; JSON is valid YAML. */
const APPLY = 'application/apply-patch+yaml'

interface Call {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | number>>
  readonly signal: AbortSignal
}

function agentOf(options: RequestOptions | undefined): Agent | undefined {
  return options?.agent instanceof Object ? (options.agent as Agent) : undefined
}

function endOf(error: unknown): WatchEnd {
  if (error === null || error === undefined) return {}
  const { statusCode, name } = error as { statusCode?: number; name?: string }
  if (name === 'TimeoutError' || name === 'AbortError') return {}
  return { reason: connectionReason(error), ...(statusCode === undefined ? {} : { status: statusCode }) }
}

function answered(request: ClientRequest, body?: string): Promise<IncomingMessage> {
  return new Promise((done, fail) => {
    request.on('response', done)
    request.on('error', fail)
    request.end(body)
  })
}

type Reply = { readonly status: number; readonly headers: IncomingMessage['headers']; readonly text: string }
type Upgraded = { readonly stream: Duplex; readonly head: Buffer; readonly headers: IncomingMessage['headers'] }

/** Resolves with an ordinary response if the server does not switch protocols. */
function upgraded(request: ClientRequest): Promise<Upgraded | IncomingMessage> {
  return new Promise((done, fail) => {
    request.on('upgrade', ({ headers }, stream, head) => done({ stream, head, headers }))
    request.on('response', done)
    request.on('error', fail)
    request.end()
  })
}

function parse(text: string): Fields | undefined {
  try {
    return asFields(JSON.parse(text))
  } catch {
    return undefined
  }
}
