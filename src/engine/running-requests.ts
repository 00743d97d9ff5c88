import type { Route } from '../config/snapshot.ts'
import { type Origin, placeText } from '../diagnostics/diagnostic.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Clock, OpenSession } from '../runtime/runtime.ts'
import type { Relay } from './inbound/relay.ts'

/** The state of a request in flight. */
export interface RunningRequest {
  readonly request: string
  readonly method: string
  /** Without the query, which may carry credentials. */
  readonly path: string
  readonly source: string
  /** ms since its head was read. */
  readonly age: number
  readonly step: string
  /** `FILE:LINE` of what it is waiting for; absent until a listener is found. */
  readonly at?: string
}

/** A relayed connection. */
export interface RunningConnection {
  readonly source: string
  readonly listener: string
  /** ms since it was accepted. */
  readonly age: number
  readonly step: string
  /** Bytes received from and sent to the client. */
  readonly received: number
  readonly sent: number
  /** `FILE:LINE` of its route, or of the listener if no route matched. */
  readonly at: string
}

/** Everything that a thread is working on. */
export interface RunningWork {
  readonly requests: RunningReport
  readonly connections: readonly RunningConnection[]
  readonly sessions: readonly OpenSession[]
}

/** Entries listed; the rest is only counted. */
const MAX_LISTED = 1000

export interface RunningReport {
  /** Oldest first. */
  readonly requests: readonly RunningRequest[]
  readonly total: number
}

/**
 * The requests in flight, for `/debug/tasks`. They are kept in reusable slots: a Set would rebuild its table regularly,
 * each old one keeping its requests and the next table alive until all of them reach the old generation (measured: a
 * fifth of the processor time).
 */
export class RunningRequests {
  readonly #places: (Exchange | undefined)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#places.length - this.#free.length
  }

  add(x: Exchange): void {
    const place = this.#free.pop() ?? this.#places.length
    x.place = place
    this.#places[place] = x
  }

  delete(x: Exchange): void {
    const { place } = x
    if (place === undefined) return
    x.place = undefined
    this.#places[place] = undefined
    this.#free.push(place)
  }

  all(): Exchange[] {
    return this.#places.filter(x => x !== undefined)
  }

  report(clock: Clock): RunningReport {
    const now = clock.mono()
    const requests: RunningRequest[] = []
    const running = this.all().sort((a, b) => a.startedMono - b.startedMono)
    for (const x of running.slice(0, MAX_LISTED)) {
      const { step, origin } = standing(x)
      requests.push({
        request: x.id,
        method: x.received.method,
        path: x.received.path.split('?', 1)[0] as string,
        source: `${x.connection.address}:${x.connection.port}`,
        age: Math.round(now - x.startedMono),
        step,
        ...(origin === undefined ? {} : { at: placeText(origin) }),
      })
    }
    return { requests, total: running.length }
  }
}

export function runningConnection(relay: Relay, clock: Clock): RunningConnection {
  const { source, listener, route, endpoint, startedMono, connected, received, sent } = relay
  return {
    source,
    listener: listener.name,
    age: Math.round(clock.mono() - startedMono),
    step: connected ? `connected to ${endpoint}` : endpoint === undefined ? 'ending' : `connecting to ${endpoint}`,
    received,
    sent,
    at: placeText((route ?? listener).origin),
  }
}

function standing(x: Exchange): { readonly step: string; readonly origin: Origin | undefined } {
  const attempt = x.attempts.at(-1)
  if (x.waitingIn !== undefined) {
    const { policy, origins } = x.waitingIn
    return { step: `in the policy ${policy}`, origin: origins[0] ?? x.route?.origin }
  }
  if (x.response !== undefined && x.answeredMono !== undefined)
    return { step: `sending the response ${x.response.status}`, origin: x.route?.origin }
  if (attempt !== undefined && attempt.status === undefined && attempt.error === undefined) {
    const which = attempt.index === 0 ? '' : ` (attempt ${attempt.index + 1})`
    return { step: `waiting for ${attempt.target}${which}`, origin: backendOrigin(x) }
  }
  if (attempt !== undefined) return { step: 'preparing the response', origin: backendOrigin(x) }
  if (x.route !== undefined) return { step: 'before the backend', origin: x.route.origin }
  return { step: 'before the route', origin: x.listener?.origin }
}

function backendOrigin({ route, backend }: Exchange): Origin | undefined {
  const { backends = [] } = (route ?? {}) as Partial<Route>
  return backends.find(use => use.backend === backend)?.origin ?? route?.origin
}
