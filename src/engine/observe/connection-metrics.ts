import type { Counter, Family, Gauge, Histogram, MetricsRegistry } from '../metrics/registry.ts'
import { UNKNOWN } from './record-fields.ts'

const CONNECTING = [0.0005, 0.0015, 0.0043, 0.0126, 0.0368, 0.108, 0.316, 0.924, 2.71, 8]

/** The metrics of connections, independent of requests. */
export class ConnectionMetrics {
  readonly #connections: Family<Counter>
  readonly #open: Family<Gauge>
  readonly #received: Family<Counter>
  readonly #sent: Family<Counter>
  readonly #handshakes: Family<Histogram>
  readonly #connecting: Family<Histogram>

  constructor(metrics: MetricsRegistry) {
    const labels = ['bind', 'gateway', 'listener', 'protocol']
    this.#connections = metrics.counter('agentgateway_downstream_connections_total', 'Connections accepted.', labels)
    this.#open = metrics.gauge('agentgateway_downstream_connections_active', 'Connections that are open.', labels)
    this.#received = metrics.counter(
      'agentgateway_downstream_received_bytes_total',
      'Bytes received from clients.',
      labels,
    )
    this.#sent = metrics.counter('agentgateway_downstream_sent_bytes_total', 'Bytes sent to clients.', labels)
    this.#handshakes = metrics.histogram(
      'agentgateway_tls_handshake_duration_seconds',
      'Time that TLS handshakes of clients took.',
      CONNECTING,
      labels,
    )
    this.#connecting = metrics.histogram(
      'agentgateway_upstream_connect_duration_seconds',
      'Time to establish upstream connections.',
      CONNECTING,
      ['transport'],
    )
  }

  opened(place: ConnectionPlace): ConnectionMeter {
    const labels = labelsOf(place)
    this.#connections.with(...labels).add(1)
    const open = this.#open.with(...labels)
    open.add(1)
    return { open, received: this.#received.with(...labels), sent: this.#sent.with(...labels) }
  }

  /** ms. */
  handshake(place: ConnectionPlace, duration: number): void {
    this.#handshakes.with(...labelsOf(place)).observe(duration / 1000)
  }

  /** ms. */
  connected(transport: 'plaintext' | 'tls', duration: number): void {
    this.#connecting.with(transport).observe(duration / 1000)
  }
}

export interface ConnectionPlace {
  readonly bind: string
  readonly protocol: 'http' | 'https' | 'hbone' | 'tcp' | 'tls' | 'udp'
  /** Known if the listener is determined before any request: by server name, or by port alone. */
  readonly listener?: { readonly namespace: string; readonly name: string } | undefined
}

/** Receives the byte counts of one connection, as they come or at its end, and its close. */
export interface ConnectionMeter {
  readonly open: Pick<Gauge, 'add'>
  readonly received: Pick<Counter, 'add'>
  readonly sent: Pick<Counter, 'add'>
}

function labelsOf({ bind, listener, protocol }: ConnectionPlace): string[] {
  return [bind, listener ? `${listener.namespace}/default` : UNKNOWN, listener?.name ?? UNKNOWN, protocol]
}
