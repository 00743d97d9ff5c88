import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent, request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import { text as readAll } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { asFields, asText, type Fields } from '../../config/resources/resource.ts'
import { Failure } from '../../diagnostics/failure.ts'
import type { ClusterAccess } from './credentials.ts'

/** An answer of an API server that is no 200. */
export interface Refusal {
  readonly status: number
  /** The server's own words. */
  readonly message: string
}

export type Answer = { readonly value: Fields } | { readonly refusal: Refusal }

export interface ClientOptions {
  /** ms until an answer must be complete. */
  readonly timeout: number
}

const DEFAULTS: ClientOptions = { timeout: 30_000 }
/** A server that is busy says when to come back. */
const ATTEMPTS = 4
const LONGEST_PAUSE = 10_000

/** GET requests to one API server. Throws a Failure when it cannot be reached, or takes the credentials for wrong. */
export class ApiClient {
  readonly #access: ClusterAccess
  readonly #options: ClientOptions
  readonly #agent: Agent

  constructor(access: ClusterAccess, options: Partial<ClientOptions> = {}) {
    this.#access = access
    this.#options = { ...DEFAULTS, ...options }
    this.#agent = new Agent({ keepAlive: true, maxSockets: 4, ...access.tls })
  }

  async get(path: string): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const { status, headers, text } = await this.#send(path)
      const value = parse(text)
      if (status === 200 && value) return { value }
      const wait = Number(headers['retry-after'])
      if ((status === 429 || status === 503) && wait >= 0 && attempt < ATTEMPTS) {
        await pause(Math.min(wait * 1000, LONGEST_PAUSE))
        continue
      }
      const message = asText(value?.message) ?? text.split('\n', 1)[0]!.slice(0, 200)
      if (status === 401) throw this.#unauthorized()
      if (status === 200) throw this.#failed('answered with something else than JSON')
      return { refusal: { status, message } }
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  async #send(path: string) {
    const signal = AbortSignal.timeout(this.#options.timeout)
    try {
      const reply = await this.#reply(path, signal)
      return { status: reply.statusCode ?? 0, headers: reply.headers, text: await readAll(reply) }
    } catch (error) {
      if (error instanceof Failure) throw error
      if (signal.aborted) {
        throw new Failure('timeout', `${this.#shown} gave no answer within ${this.#options.timeout / 1000} s.`)
      }
      throw this.#failed(reasonOf(error as NodeJS.ErrnoException), error)
    }
  }

  async #reply(path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const { server, headers, tls, proxy } = this.#access
    const url = new URL(`${server.pathname.replace(/\/$/, '')}${path}`, server)
    const all = { signal, headers: { accept: 'application/json', ...headers } }
    if (url.protocol === 'http:') return answered(requestHttp(url, all))
    if (!proxy) return answered(requestHttps(url, { ...all, agent: this.#agent }))
    const socket = await tunnel(proxy, url, signal)
    // Not in the types: what is given here goes on to `tls.connect`.
    return answered(requestHttps(url, { ...all, ...tls, agent: false, socket } as object))
  }

  get #shown(): string {
    return `the API server ${this.#access.server.origin} (context ${this.#access.context})`
  }

  #failed(what: string, cause?: unknown): Failure {
    return new Failure('unreachable', `${this.#shown} cannot be asked: ${what}.`, {
      help: 'Is it the right --context, and is the cluster up?',
      cause,
    })
  }

  #unauthorized(): Failure {
    return new Failure('unreachable', `${this.#shown} does not take the credentials of the kubeconfig (401).`, {
      help: 'They may have expired: log in again.',
    })
  }
}

function answered(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((done, fail) => {
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

function reasonOf(error: NodeJS.ErrnoException): string {
  const first = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : error
  return REASONS[first.code ?? ''] ?? first.message
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'no such host',
  EHOSTUNREACH: 'no route to the host',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not signed by a CA that the kubeconfig names',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not signed by a CA that the kubeconfig names',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by a CA that the kubeconfig names',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not signed by a CA that the kubeconfig names',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
}
