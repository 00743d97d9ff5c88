import { runDone } from '../../calls/run-policies.ts'
import type { Bind } from '../../config/snapshot.ts'
import type { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Downstream } from '../downstream.ts'
import { answerFailure, handle } from '../handle.ts'
import type { ConnectionMetrics } from '../observe/connection-metrics.ts'
import { newPassage, type Passage, type Serving } from '../passage.ts'
import { selectByServerName } from '../route-table.ts'
import type { Resolver } from '../upstream/dns.ts'
import { type ArrivedRequest, arrivedExchange } from './arrived-exchange.ts'
import type { Connection } from './connection.ts'
import type { Relay } from './relay.ts'

/** What the connections of a port need from the gateway. */
export interface ListenerHost {
  readonly runtime: Runtime
  readonly resolver: Resolver
  readonly connections: ConnectionMetrics
  /** The secret that TLS session ticket keys are derived from. */
  readonly tickets: Uint8Array
  serving(): Serving
  bind(): Bind
  /** True once a graceful stop has begun. */
  closing(): boolean
  nextId(): number
  started(x: Exchange, out: Downstream): void
  finished(x: Exchange): void
  /** There was no request: only log and metrics record it. */
  refused(x: Exchange): void
  /** A relayed connection counts as one unit of work. */
  relayStarted(relay: Relay): void
  relayFinished(relay: Relay, record: Readonly<Record<string, string | number>>): void
  /** Hands the request to the worker that owns its session; undefined if it is served here. */
  handOver?(x: Exchange, out: Downstream): { finish(): void } | undefined
}

export interface Incoming extends ArrivedRequest {
  readonly connection: Connection
}

export function exchangeFor(incoming: Incoming, host: ListenerHost): Exchange {
  const { credentials } = host.serving().snapshot
  return arrivedExchange(String(host.nextId()), incoming.connection.facts, incoming, host.runtime.clock, credentials)
}

/** The client side as its protocol implementation sees it. */
export interface OpenDownstream extends Downstream {
  state: Downstream['state']
}

/** Serves or rejects one request. The caller reports the end of the transport through the returned object. */
export function serveExchange(
  x: Exchange,
  out: OpenDownstream,
  host: ListenerHost,
  refusal?: GatewayError,
): { finish(): void } {
  const handed = refusal === undefined ? host.handOver?.(x, out) : undefined
  if (handed) return handed
  const passage = newPassage()
  // The client's original body: policies may wrap it.
  const { body } = x
  host.started(x, out)
  if (refusal) {
    placeRefused(x, host)
    void answerFailure(x, refusal, passage, out, host.runtime)
  } else void handle(x, host.bind(), host.serving(), out, passage, host.runtime)
  return {
    finish() {
      finish(x, passage, out, host)
      body.release?.()
    },
  }
}

/** Attributes a rejected request to its bind and listener; with TLS the server name has selected the listener. */
export function placeRefused(x: Exchange, host: ListenerHost): void {
  const { tls } = x.connection
  x.bind = host.bind()
  if (tls) x.listener = selectByServerName(host.bind(), tls.sni)
}

/** The last byte has been sent, or the client disconnected. */
function finish(x: Exchange, passage: Passage, out: OpenDownstream, host: ListenerHost): void {
  if (out.state !== 'ended') {
    x.error ??= 'the client left'
    x.abort()
  }
  out.state = 'ended'
  x.endCalls()
  passage.deadline?.cancel()
  x.endedMono = host.runtime.clock.mono()
  runDone(passage.backend?.pipeline.done, x)
  runDone(passage.route?.done, x)
  runDone(passage.listener?.done, x)
  host.finished(x)
}
