import type { Clock } from '../../http/runtime.ts'
import type { Target, Transport } from '../../http/transport.ts'
import { createHttp1Transport } from './http1-client.ts'
import { createUndiciTransport } from './undici-client.ts'

export interface TransportOptions {
  readonly clock: Clock
  /** ms that an unused connection is kept; 90 000 when unset. */
  readonly idleTimeout?: number
  /** Unused connections kept per target; 512 when unset. */
  readonly maxIdle?: number
  /** Who speaks HTTP/1.1: when unset the own client, which takes a third less time (bench/README.md). HTTP/2: undici. */
  readonly http1?: 'own' | 'undici'
}

/** The one way out of the gateway: pooled connections, back-pressure both ways, every failure a GatewayError. */
export function createTransport(options: TransportOptions): Transport {
  const settings = { idleTimeout: 90_000, maxIdle: 512, ...options }
  const undici = createUndiciTransport(settings)
  if (options.http1 === 'undici') return undici
  const http1 = createHttp1Transport(settings)
  return {
    dispatch: (target, request, on) => (mayBeHttp2(target) ? undici : http1).dispatch(target, request, on),
    async close() {
      await Promise.all([undici.close(), http1.close()])
    },
  }
}

function mayBeHttp2(target: Target): boolean {
  return target.version === '2' || (target.version === undefined && target.tls?.alpn?.includes('h2') === true)
}
