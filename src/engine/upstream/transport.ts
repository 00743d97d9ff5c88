import type { Clock } from '../../http/runtime.ts'
import type { Transport } from '../../http/transport.ts'
import { createUndiciTransport } from './undici-client.ts'

export interface TransportOptions {
  readonly clock: Clock
  /** ms that an unused connection is kept; 90 000 when unset. */
  readonly idleTimeout?: number
  /** Unused connections kept per target; 512 when unset. */
  readonly maxIdle?: number
}

/** The one way out of the gateway: pooled connections, back-pressure both ways, every failure a GatewayError. */
export function createTransport(options: TransportOptions): Transport {
  return createUndiciTransport({ idleTimeout: 90_000, maxIdle: 512, ...options })
}
