import { GatewayError } from '../../http/errors.ts'
import type { ResponseHandler, Target, Transport, UpstreamRequest } from '../../http/transport.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { Dialing } from './dial.ts'
import { type Lookup, type LookupFamily, Resolver } from './dns.ts'
import { requestFailure } from './failure.ts'
import { createHttp1Transport } from './http1-client.ts'
import { createHttp2Transport } from './http2/client.ts'
import { openTunnel } from './open-tunnel.ts'

export interface TransportOptions {
  readonly clock: Clock
  /** ms that an idle connection is kept; 90 000 if unset. */
  readonly idleTimeout?: number
  /** Idle connections kept per target; 512 if unset. */
  readonly maxIdle?: number
  readonly lookup?: Lookup
  readonly connected?: Dialing['connected']
}

/** Connection settings from the configuration; unset ones are unchanged. */
export interface ConnectionSettings {
  /** ms. */
  readonly idleTimeout?: number
  readonly maxIdle?: number
  readonly lookupFamily?: LookupFamily
}

export interface ConfigurableTransport extends Transport {
  readonly resolver: Resolver
  /** Applies to connections that are opened or become idle from now on. */
  configure(settings: ConnectionSettings): void
}

/** The only way out of the gateway: pooled connections, back-pressure both ways, every failure a GatewayError. */
export function createTransport(options: TransportOptions): ConfigurableTransport {
  const resolver = new Resolver(options)
  const settings = { idleTimeout: 90_000, maxIdle: 512, ...options, resolver }
  const http1 = createHttp1Transport(settings)
  const http2 = createHttp2Transport(settings, http1)
  return {
    resolver,
    configure({ lookupFamily, ...limits }) {
      Object.assign(settings, limits)
      if (lookupFamily !== undefined) resolver.family = lookupFamily
    },
    dispatch(target, request, on) {
      if (request.method === 'CONNECT') {
        if (request.tunnel) return openTunnel(target, settings, on)
        on.fail(requestFailure('invalid method'))
        return { cancel() {} }
      }
      const client = mayBeHttp2(target, request) ? http2 : http1
      return target.sign === undefined
        ? client.dispatch(target, request, on)
        : dispatchSigned(client, target, target.sign(request, target), on)
    },
    async close() {
      await Promise.all([http2.close(), http1.close()])
    },
  }
}

function dispatchSigned(
  client: Transport,
  target: Target,
  signing: Promise<UpstreamRequest>,
  on: ResponseHandler,
): { cancel(): void } {
  let over = false
  let call: { cancel(): void } | undefined
  signing.then(
    request => {
      if (!over) call = client.dispatch(target, request, on)
    },
    (error: unknown) => {
      if (!over) on.fail(error instanceof GatewayError ? error : new GatewayError('backendAuth', { cause: error }))
    },
  )
  return {
    cancel() {
      over = true
      call?.cancel()
    },
  }
}

function mayBeHttp2({ version, tls }: Target, { upgrade }: UpstreamRequest): boolean {
  // Upgrades that HTTP/2 does not support use HTTP/1.1 if both are offered.
  return version === '2' || (version === undefined && upgrade === undefined && tls?.alpn?.includes('h2') === true)
}
