import {
  type BodySource,
  bodyOf,
  type ConnectionFacts,
  Exchange,
  emptyHead,
  type RequestHead,
} from '../http/exchange.ts'
import type { Clock } from '../runtime/runtime.ts'
import type { CallPurpose } from '../trace/span.ts'

/** For exchanges without a connection. */
const NOBODY: ConnectionFacts = { id: 0, address: '', port: 0, localPort: 0 }
const TIMELESS = { now: () => 0, mono: () => 0 }

export interface OwnRequest {
  readonly request?: RequestHead
  readonly body?: BodySource
  readonly purpose?: CallPurpose | undefined
  /** For logs. */
  readonly id?: string
  readonly connection?: ConnectionFacts
  /** Sets the start time; unset if nothing needs it. */
  readonly clock?: Pick<Clock, 'now' | 'mono'>
  readonly httpVersion?: string
}

/** An exchange without a client request: the gateway's own calls, and expressions evaluated outside of a request. */
export function ownExchange(own: OwnRequest = {}): Exchange {
  const { id = '', connection = NOBODY, clock = TIMELESS, httpVersion = '1.1', request, body, purpose } = own
  return new Exchange({
    id,
    connection,
    startedAt: clock.now(),
    startedMono: clock.mono(),
    httpVersion,
    request: request ?? emptyHead(),
    body: body ?? bodyOf(undefined),
    purpose,
  })
}

export interface Derivation {
  readonly request: RequestHead
  readonly body: BodySource
  readonly purpose: CallPurpose
  /**
   * Scope of its events in the trace: `mirror`, `target NAME`. If unset, it may outlive the trace and is not part of
   * it.
   */
  readonly scope: string | undefined
  /** If unset, the client's version, which callees are spoken to in if they are known to support it. */
  readonly httpVersion?: string
}

/**
 * An exchange for one call on behalf of `x`: the callee's policies see the outgoing request along with its principal,
 * its listener and route, and what earlier policies have established. Their changes do not affect `x`.
 */
export function derivedFrom(x: Exchange, derivation: Derivation): Exchange {
  const { id, connection, startedAt, startedMono } = x
  const { request, body, purpose, scope, httpVersion = x.httpVersion } = derivation
  const own = new Exchange({ id, connection, startedAt, startedMono, httpVersion, request, body, purpose })
  Object.assign(own.auth, x.auth)
  Object.assign(own.metadata, x.metadata)
  Object.assign(own.external, x.external)
  own.bind = x.bind
  own.listener = x.listener
  own.route = x.route
  own.backend = x.backend
  own.llm = x.llm
  own.mcp = x.mcp
  if (scope === undefined) return own
  own.trace = x.trace?.child(scope, own)
  own.span = x.span
  return own
}

/** A copy of the request of `x` for one of several candidates: changes for one do not leak to the next. */
export function repeatOf(x: Exchange, purpose: CallPurpose, scope: string): Exchange {
  const request = { ...x.request, headers: x.request.headers.copy() }
  const own = derivedFrom(x, { request, body: x.body, purpose, scope })
  own.upgrade = x.upgrade
  own.authorityFixed = x.authorityFixed
  own.matchedPrefix = x.matchedPrefix
  own.matchedPath = x.matchedPath
  return own
}
