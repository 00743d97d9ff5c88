// An HTTP address and the calls to it.
import { hash } from 'node:crypto'
import { PRIMARY } from '../calls/call-record.ts'
import { dispatch } from '../calls/dispatch.ts'
import { authorityOf } from '../http/authority.ts'
import type { Attempt, Exchange } from '../http/exchange.ts'
import { ipVersion } from '../http/ip-version.ts'
import { isThisMachine } from '../http/own-host.ts'
import type { ResponseHandler, Target, UpstreamRequest } from '../http/transport.ts'
import type { UpstreamSettings } from '../policies/policy.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { HostPort } from '../schema/scalars.ts'

/** ms. */
const CONNECT_TIMEOUT = 10_000

export interface HttpTargetOptions {
  /** Decides on each address that the host resolves to. */
  readonly permits?: Target['permits']
  /** Identifies `permits`, never empty: connections are shared only under the same guard. */
  readonly guard?: string
}

/** What calls to one address need, computed once. */
export class HttpTarget {
  /** `host:port`, or the path of a socket. */
  readonly address: string
  readonly target: Target
  readonly #http2: Http2Targets | undefined
  readonly #authority: string | undefined
  /** The authority to send if the client sends none. */
  readonly #fallback: string
  readonly #timeout: number | undefined

  constructor(to: HostPort, settings: UpstreamSettings, options: HttpTargetOptions = {}) {
    this.address = to.unixPath ?? `${to.host}:${to.port}`
    this.target = targetOf(to, settings, options)
    this.#http2 = http2Targets(to, settings, options)
    const { named } = this.target
    this.#fallback = authorityOf(this.target)
    this.#authority = named ? this.#fallback : undefined
    this.#timeout = settings.requestTimeout
  }

  /** Makes one call with the client's request as it stands; it ends with the exchange. */
  send(runtime: Runtime, x: Exchange, attempt: Attempt, on: ResponseHandler): void {
    attempt.target = this.address
    const request = requestOf(x, this.#authority, this.#fallback, this.#timeout ?? attempt.timeout ?? 0)
    dispatch(runtime, x, versioned(x, this.target, this.#http2), request, on)
  }
}

function targetOf(to: HostPort, settings: UpstreamSettings, { permits, guard = '' }: HttpTargetOptions): Target {
  return {
    key: `${to.unixPath ?? to.host}:${to.port}#${connectionKey(settings, guard)}`,
    host: to.host,
    port: to.port,
    ...(to.unixPath === undefined ? {} : { unixPath: to.unixPath }),
    ...connectionOf(settings),
    ...(permits === undefined ? {} : { permits }),
    ...(to.unixPath === undefined && settings.ownPorts?.has(to.port) && isThisMachine(to.host)
      ? { returns: true }
      : {}),
    named: to.unixPath === undefined && ipVersion(to.host) === 0,
  }
}

/** The settings of connections and of the protocol on them. */
export function connectionOf(settings: UpstreamSettings): Omit<Target, 'key' | 'host' | 'port' | 'named'> {
  const { tls, version, keepAlive, tunnel, sign } = settings
  return {
    ...(tls === undefined ? {} : { tls }),
    connectTimeout: settings.connectTimeout ?? CONNECT_TIMEOUT,
    ...(version === undefined ? {} : { version }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
    ...(tunnel === undefined ? {} : { tunnel }),
    ...(sign === undefined ? {} : { sign }),
  }
}

/**
 * Equal for settings that can share connections. TLS settings are hashed, since they hold private keys and keys are
 * displayed.
 */
export function connectionKey(
  { tls, version, keepAlive, connectTimeout, tunnel }: UpstreamSettings,
  more = '',
): string {
  const plain = JSON.stringify([version, keepAlive, connectTimeout, tunnel?.key, more])
  return tls === undefined ? plain : hash('sha256', JSON.stringify(tls) + plain, 'base64url')
}

interface Http2Targets {
  /** Always HTTP/2, whatever ALPN negotiates. */
  readonly fixed: Target
  /** HTTP/2 in plaintext; over TLS the backend chooses. */
  readonly offered: Target
}

/** Undefined if the configuration fixes the version. */
function http2Targets(to: HostPort, settings: UpstreamSettings, options: HttpTargetOptions): Http2Targets | undefined {
  if (settings.version !== undefined) return undefined
  const fixed = targetOf(to, { ...settings, version: '2' }, options)
  const { tls } = settings
  if (tls === undefined) return { fixed, offered: fixed }
  return {
    fixed,
    offered: targetOf(to, { ...settings, tls: { ...tls, alpn: tls.alpn ?? ['h2', 'http/1.1'] } }, options),
  }
}
/** The client's own version in plaintext; behind TLS and for upgrades HTTP/1.1; for gRPC HTTP/2, which it requires. */
function versioned(x: Exchange, target: Target, http2: Http2Targets | undefined): Target {
  if (http2 === undefined || x.httpVersion !== '2.0' || x.upgrade !== undefined || x.request.method === 'CONNECT')
    return target
  if (x.request.headers.get('content-type')?.startsWith('application/grpc')) return http2.fixed
  return x.connection.tls === undefined ? http2.offered : target
}

/** `authority`: undefined to forward the client's, with `fallback` if there is none. */
function requestOf(x: Exchange, authority: string | undefined, fallback: string, timeout: number): UpstreamRequest {
  const { method, path, headers } = x.request
  return {
    method,
    path,
    authority: (authority === undefined || x.authorityFixed ? x.request.authority : authority) || fallback,
    headers,
    body: x.body.take(),
    timeout,
    purpose: x.purpose ?? PRIMARY.Http,
    ...(x.upgrade === undefined ? {} : { upgrade: x.upgrade }),
    ...(method === 'CONNECT' && x.received.method === method ? { tunnel: true } : {}),
  }
}
