import { resolve } from 'node:path'
import {
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  KubeConfig,
  RequestContext,
  type ResponseContext,
  Watch,
} from '@kubernetes/client-node'
import { Failure } from '../../diagnostics/failure.ts'
import { visible } from '../../diagnostics/visible.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import { connectionReason } from '../admin/connection-reason.ts'
import type { Answer } from './api-client.ts'
import type { KubeContext } from './kubeconfig.ts'
import type { Getting } from './list-pages.ts'

/** Timeout in ms for a complete response. */
const TIMEOUT = 30_000
/** ms without a byte, bookmarks included, after which a watch is considered dead. */
const SILENCE = 90_000
/** Seconds after which the API server ends a watch. */
const WATCHED = 600
/** ms that credentials and connections are kept; then tokens are read and plugins run again. */
const KEPT = 60_000

export interface WatchEvent {
  readonly type: string
  readonly object: Fields
}

/** Why a watch ended; empty if the server closed it normally. */
export interface WatchEnd {
  readonly status?: number
  readonly reason?: string
}

/** Calls to one API server over the lifetime of a gateway. */
export class ClusterClient implements Getting {
  readonly server: string
  readonly namespace: string
  readonly #config = new KubeConfig()
  readonly #http = new IsomorphicFetchHttpLibrary()
  #credentials: { readonly context: RequestContext; readonly until: number } | undefined

  constructor(context: KubeContext) {
    this.#config.loadFromString(asKubeconfig(context))
    this.server = this.#config.getCurrentCluster()?.server.replace(/\/$/, '') ?? ''
    this.namespace = context.namespace
    if (!URL.canParse(this.server)) {
      throw new Failure('input', `the cluster of context ${context.name} has no \`server\` that is a URL.`)
    }
  }

  get(path: string): Promise<Answer> {
    return this.send(HttpMethod.GET, path)
  }

  /** Rejects if the server is unreachable; an error status is an answer. */
  async send(method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: object): Promise<Answer> {
    const reply = await this.#send(method, path, body)
    const text = await reply.body.text()
    const value = parse(text)
    const status = reply.httpStatusCode
    // The credentials expired early.
    if (status === 401) this.#credentials = undefined
    if (status >= 200 && status < 300 && value) return { value }
    const message = visible(asText(value?.message) ?? text.split('\n', 1)[0]!).slice(0, 500)
    return { refusal: { status, message } }
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
    return end
  }

  async #send(method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: object): Promise<ResponseContext> {
    const context = new RequestContext(`${this.server}${path}`, HttpMethod[method])
    const known = await this.#authorized()
    for (const [name, value] of Object.entries(known.getHeaders())) context.setHeaderParam(name, value)
    const dispatcher = known.getDispatcher()
    if (dispatcher) context.setDispatcher(dispatcher)
    context.setHeaderParam('accept', 'application/json')
    context.setSignal(AbortSignal.timeout(TIMEOUT))
    if (body !== undefined) {
      context.setHeaderParam('content-type', method === 'PATCH' ? APPLY : 'application/json')
      context.setBody(JSON.stringify(body))
    }
    try {
      return await this.#http.send(context).toPromise()
    } catch (error) {
      throw new Failure('unreachable', `the API server ${this.server} cannot be asked: ${connectionReason(error)}.`, {
        cause: error,
      })
    }
  }

  /** The library would open connections for each call; these are reused for a while. */
  async #authorized(): Promise<RequestContext> {
    const now = performance.now()
    if (this.#credentials && this.#credentials.until > now) return this.#credentials.context
    const context = new RequestContext(this.server, HttpMethod.GET)
    await this.#config.applySecurityAuthentication(context)
    this.#credentials = { context, until: now + KEPT }
    return context
  }
}

/** Server-side apply; JSON is valid YAML. */
const APPLY = 'application/apply-patch+yaml'

function endOf(error: unknown): WatchEnd {
  if (error === null || error === undefined) return {}
  const { statusCode, name } = error as { statusCode?: number; name?: string }
  if (name === 'TimeoutError' || name === 'AbortError') return {}
  return { reason: connectionReason(error), ...(statusCode === undefined ? {} : { status: statusCode }) }
}

function parse(text: string): Fields | undefined {
  try {
    return asFields(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** The context alone, with absolute paths. */
function asKubeconfig({ name, cluster, clusterFolder, user, userFolder, namespace }: KubeContext): string {
  const { tokenFile, ...rest } = user
  // As a provider, which rereads the file, since tokens of pods are renewed.
  const provider = { name: 'tokenFile', config: { tokenFile: resolve(userFolder, String(tokenFile)) } }
  const account = tokenFile === undefined ? {} : { 'auth-provider': provider }
  return JSON.stringify({
    'current-context': name,
    clusters: [{ name, cluster: absolute(cluster, clusterFolder) }],
    users: [{ name, user: { ...absolute(rest, userFolder), ...account } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace } }],
  })
}

const PATHS: ReadonlySet<string> = new Set(['certificate-authority', 'client-certificate', 'client-key'])

function absolute(fields: Fields, folder: string): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, PATHS.has(key) ? resolve(folder, String(value)) : value]),
  )
}
