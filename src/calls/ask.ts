import { authorityOf } from '../http/authority.ts'
import { GatewayError } from '../http/errors.ts'
import { type BodySource, bodyOf, type Exchange } from '../http/exchange.ts'
import { HeaderList } from '../http/headers.ts'
import { handlerAround, type ResponseHandler } from '../http/transport.ts'
import type { CallPurpose } from '../trace/span.ts'
import type { CallRuntime } from './call-record.ts'
import { derivedFrom, ownExchange } from './derived-exchange.ts'
import { type WholeReply, wholeReply } from './dispatch.ts'
import { type Callee, makeCall, type Outcall } from './outcall.ts'

/** A request from the gateway to a service. */
export interface ServiceRequest extends Outcall {
  /** Scope of its events in the client's trace: the policy's name. If unset, none are emitted. */
  readonly scope?: string
  /** Others await the response too: the call continues if the client disconnects. */
  readonly shared?: boolean
  readonly method: string
  /** Including the query. */
  readonly path: string
  /** Name, value, name, value. */
  readonly fields: readonly string[]
  /** Overrides the service's own. */
  readonly authority?: string | undefined
  /** Called when the head has arrived; the body may still fail. */
  heard?(status: number): void
}

/**
 * Sends a request to a service over HTTP and buffers its response, up to `limit` bytes. `timeout` covers the body too.
 * `client` is the request that the call is made for; the call ends with it unless shared. Throws GatewayError if no
 * response arrives.
 */
export function ask(
  to: Callee,
  request: ServiceRequest,
  body: Buffer | undefined,
  limit: number,
  runtime: CallRuntime,
  client?: Exchange,
): Promise<WholeReply> {
  try {
    const x = serviceExchange(to, request, bodyOf(body), runtime, client)
    return wholeReply(runtime.clock, request.timeout, limit, on =>
      makeCall(x, to, request, runtime, request.heard ? heardBy(request.heard, on) : on),
    )
  } catch (error) {
    return Promise.reject(error)
  }
}

function heardBy(heard: (status: number) => void, on: ResponseHandler): ResponseHandler {
  return handlerAround(on, {
    head(status, headers) {
      heard(status)
      return on.head(status, headers)
    },
  })
}

/** The exchange for one request to a service. Throws GatewayError while the service has no endpoint. */
export function serviceExchange(
  to: Callee,
  { method, path, fields, authority, purpose, scope, shared }: ServiceRequest,
  body: BodySource,
  { clock }: CallRuntime,
  client: Exchange | undefined,
  httpVersion = '1.1',
): Exchange {
  const target = to.target()
  const length = body.length === undefined ? [] : ['content-length', String(body.length)]
  const headers = new HeaderList([...fields, ...length], true)
  if (!headers.has('user-agent')) headers.append('user-agent', 'gwctl')
  const scheme = target.tls ? 'https' : 'http'
  const request = { method, scheme, authority: authority ?? authorityOf(target), path, headers } as const
  if (!client) return ownExchange({ clock, request, body, purpose, httpVersion })
  if (client.aborted) throw new GatewayError('upstreamFailed', { detail: 'the client disconnected' })
  const x = derivedFrom(client, { request, body, purpose: purpose as CallPurpose, scope, httpVersion })
  if (authority !== undefined) x.authorityFixed = true
  if (!shared) client.owns({ cancel: () => x.abort() })
  return x
}
