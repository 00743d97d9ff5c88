// One address that is called as it is: the `host` of a route.
import { hash } from 'node:crypto'
import { isIP } from 'node:net'
import { defaultPort } from '../http/authority.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Target, UpstreamRequest } from '../http/transport.ts'
import type { UpstreamSettings } from '../policies/policy.ts'
import { type HostPort, hostPort } from '../schema/scalars.ts'
import { defineBackend } from './backend.ts'

/** ms. */
const CONNECT_TIMEOUT = 10_000

export const staticBackend = defineBackend({
  kind: 'host',
  doc: '`host:port` or `unix:/path`, without a scheme; TLS comes with `policies.backendTLS`.',
  spec: 'Backends',
  schema: hostPort,
  compile(spec, ctx) {
    const target = targetOf(spec, ctx.settings)
    const http2 = http2Targets(spec, ctx.settings)
    const authority = authorityOf(spec, target)
    const own = ctx.settings.requestTimeout
    const address = spec.unixPath ?? `${spec.host}:${spec.port}`
    const { transport } = ctx.runtime
    return {
      key: ctx.key,
      name: ctx.name,
      kind: 'host',
      protocol: 'http',
      origin: ctx.origin,
      target,
      replayable: true,
      send(x, attempt, on) {
        attempt.target = address
        const call = transport.dispatch(
          versioned(x, target, http2),
          requestOf(x, authority, own ?? attempt.timeout ?? 0),
          on,
        )
        x.onAbort(() => call.cancel())
      },
    }
  },
})

function targetOf(to: HostPort, settings: UpstreamSettings): Target {
  const { tls, version, keepAlive } = settings
  return {
    // Hashed: settings hold private keys, and keys of targets are shown.
    key: `${to.unixPath ?? to.host}:${to.port}#${hash('sha256', JSON.stringify(settings), 'base64url')}`,
    host: to.host,
    port: to.port,
    ...(to.unixPath === undefined ? {} : { unixPath: to.unixPath }),
    ...(tls === undefined ? {} : { tls }),
    connectTimeout: settings.connectTimeout ?? CONNECT_TIMEOUT,
    ...(version === undefined ? {} : { version }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
    named: to.unixPath === undefined && isIP(to.host) === 0,
  }
}

interface Http2Targets {
  /** Speaks HTTP/2, whatever TLS agrees on. */
  readonly fixed: Target
  /** Speaks HTTP/2 in plaintext; over TLS the backend chooses. */
  readonly offered: Target
}

/** Undefined where the version is settled by the file. */
function http2Targets(to: HostPort, settings: UpstreamSettings): Http2Targets | undefined {
  if (settings.version !== undefined) return undefined
  const fixed = targetOf(to, { ...settings, version: '2' })
  const { tls } = settings
  if (tls === undefined) return { fixed, offered: fixed }
  return { fixed, offered: targetOf(to, { ...settings, tls: { ...tls, alpn: tls.alpn ?? ['h2', 'http/1.1'] } }) }
}

/** The client's own version in plaintext; behind TLS HTTP/1.1, but HTTP/2 for gRPC, which knows nothing else. */
function versioned(x: Exchange, target: Target, http2: Http2Targets | undefined): Target {
  if (http2 === undefined || x.httpVersion !== '2.0') return target
  if (x.request.headers.get('content-type')?.startsWith('application/grpc')) return http2.fixed
  return x.connection.tls === undefined ? http2.offered : target
}

/** What the backend is called by, without the port that its scheme implies; undefined: by the client's own word. */
function authorityOf(to: HostPort, target: Target): string | undefined {
  if (!target.named) return undefined
  return to.port === defaultPort(target.tls === undefined ? 'http' : 'https') ? to.host : `${to.host}:${to.port}`
}

function requestOf(x: Exchange, authority: string | undefined, timeout: number): UpstreamRequest {
  const { method, path, headers } = x.request
  return {
    method,
    path,
    authority: authority === undefined || x.authorityFixed ? x.request.authority : authority,
    headers,
    body: x.body.take(),
    timeout,
    ...(x.upgrade === undefined ? {} : { upgrade: x.upgrade }),
  }
}
