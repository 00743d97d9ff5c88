import type { Listener, TcpRoute } from '../../config/snapshot.ts'

/** A relayed connection, or the relayed datagrams of one client. */
export interface Relay {
  readonly protocol: 'tcp' | 'udp'
  /** `ADDRESS:PORT` of the client. */
  readonly source: string
  readonly listener: Listener
  readonly route: TcpRoute | undefined
  readonly endpoint: string | undefined
  readonly serverName: string | undefined
  readonly startedMono: number
  /** The upstream connection is established. */
  connected: boolean
  /** Bytes received from the client. */
  received: number
  /** Bytes sent to the client. */
  sent: number
  error: string | undefined
}

export function recordOf(relay: Relay, duration: number): Record<string, string | number> {
  const { protocol, source, listener, route, endpoint, serverName, received, sent, error } = relay
  return {
    gateway: `${listener.namespace}/default`,
    listener: listener.name,
    ...(route ? { route: `${route.namespace}/${route.name}` } : {}),
    ...(endpoint === undefined ? {} : { endpoint }),
    'src.addr': source,
    ...(serverName === undefined ? {} : { 'tls.sni': serverName }),
    protocol,
    [`${protocol}.bytes.received`]: received,
    [`${protocol}.bytes.sent`]: sent,
    ...(error === undefined ? {} : { error }),
    duration: `${Math.round(duration)}ms`,
  }
}
