import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent, request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { Failure } from '../../diagnostics/failure.ts'
import { visible } from '../../diagnostics/visible.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import { connectionReason } from '../admin/connection-reason.ts'
import type { ClusterAccess } from './credentials.ts'
import { handshake, proves } from './web-socket.ts'

/** An unexpected response of an API server. */
export interface Refusal {
  readonly status: number
  /** The server's own message. */
  readonly message: string
}

export type Answer = { readonly value: Fields } | { readonly refusal: Refusal }
export type Upgrade = { readonly stream: Duplex; readonly head: Buffer } | { readonly refusal: Refusal }

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
const RIGHT_ONE = 'Is it the right --context, and is the cluster up?'

/** Calls to one API server. Throws a Failure if it is unreachable or rejects the credentials. */
export class ApiClient {
  readonly #options: ClientOptions
  readonly #renewed: (() => Promise<ClusterAccess>) | undefined
  #access: ClusterAccess
  #agent: Agent

  /** `renewed` renews the credentials: those of a plugin are valid for minutes, and a watch may last for hours. */
  constructor(access: ClusterAccess, options: Partial<ClientOptions> = {}, renewed?: () => Promise<ClusterAccess>) {
    this.#options = { ...DEFAULTS, ...options }
    this.#renewed = renewed
    this.#access = access
    this.#agent = agentOf(access)
  }

  async get(path: string): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const { status, headers, text } = await this.#authorized(async signal => {
        const sent = await this.#request(path, signal)
        return this.#read(await answered(sent))
      })
      const value = parse(text)
      if (status === 200 && value) return { value }
      const wait = Number(headers['retry-after'])
      if ((status === 429 || status === 503) && wait >= 0 && attempt < ATTEMPTS) {
        await pause(Math.min(wait * 1000, LONGEST_PAUSE))
        continue
      }
      if (status === 200) throw this.#failed('answered with something else than JSON')
      return { refusal: this.#refusal(status, text) }
    }
  }

  /** Opens a WebSocket with a subprotocol (RFC 6455). `head` has the bytes that arrived early. */
  async upgrade(path: string, protocol: string): Promise<Upgrade> {
    const opening = handshake(protocol)
    const reply = await this.#authorized<Upgraded | Reply>(async signal => {
      const sent = await this.#request(path, signal, opening.headers)
      const got = await upgraded(sent)
      return 'stream' in got ? got : this.#read(got)
    })
    if (!('stream' in reply)) return { refusal: this.#refusal(reply.status, reply.text) }
    const problem = proves(reply.headers, opening)
    if (problem === undefined) return reply
    reply.stream.destroy()
    throw this.#failed(problem)
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Work with credentials that may have expired. */
  async #authorized<T extends Upgraded | Reply>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const reply = await this.#within(work)
    if (!('status' in reply) || reply.status !== 401 || this.#renewed === undefined) return reply
    this.#access = await this.#renewed()
    this.#agent = agentOf(this.#access)
    return this.#within(work)
  }

  /** Work limited by the timeout, whose error names the request. */
  async #within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
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

  async #request(path: string, signal: AbortSignal, more: Readonly<Record<string, string>> = {}) {
    const { server, headers, tls, proxy } = this.#access
    const url = new URL(`${server.pathname.replace(/\/$/, '')}${path}`, server)
    const all = { signal, headers: { accept: 'application/json', ...headers, ...more } }
    if (url.protocol === 'http:') return requestHttp(url, all)
    if (!proxy) return requestHttps(url, { ...all, agent: this.#agent })
    const socket = await tunnel(proxy, url, signal)
    // Missing from the types: these options are passed to `tls.connect`.
    return requestHttps(url, { ...all, ...tls, agent: false, socket } as object)
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
    if (status === 401) throw this.#unauthorized()
    return { status, message: visible(asText(parse(text)?.message) ?? text.split('\n', 1)[0]!).slice(0, 500) }
  }

  get #shown(): string {
    return `the API server ${this.#access.server.origin} (context ${this.#access.context})`
  }

  #failed(what: string, cause?: unknown): Failure {
    return new Failure('unreachable', `${this.#shown} cannot be asked: ${what}.`, {
      help: RIGHT_ONE,
      cause,
    })
  }

  #unauthorized(): Failure {
    return new Failure('unreachable', `${this.#shown} does not take the credentials of the kubeconfig (401).`, {
      help: 'They may have expired: log in again.',
    })
  }
}

function agentOf({ tls }: ClusterAccess): Agent {
  return new Agent({ keepAlive: true, maxSockets: 4, ...tls })
}

function answered(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((done, fail) => {
    request.on('response', done)
    request.on('error', fail)
    request.end()
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

function tunnel(proxy: URL, to: URL, signal: AbortSignal): Promise<Socket> {
  const path = `${to.hostname}:${to.port || '443'}`
  const user = proxy.username && decodeURIComponent(`${proxy.username}:${proxy.password}`)
  const headers = user ? { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` } : {}
  return new Promise((done, fail) => {
    const request = requestHttp(new URL(proxy.origin), { method: 'CONNECT', path, headers, signal, agent: false })
    request.on('connect', (reply, socket) => {
      if (reply.statusCode === 200) done(socket)
      else {
        socket.destroy()
        fail(new Failure('unreachable', `the proxy ${proxy.host} refuses a tunnel to ${path} (${reply.statusCode}).`))
      }
    })
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
