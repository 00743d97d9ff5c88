import { PRIMARY } from '../../calls/call-record.ts'
import { derivedFrom } from '../../calls/derived-exchange.ts'
import { dispatch } from '../../calls/dispatch.ts'
import { type Called, makeCall } from '../../calls/outcall.ts'
import { asError } from '../../calls/response-policies.ts'
import { authorityOf } from '../../http/authority.ts'
import { bodyOf, type Exchange } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import type { ResponseHandler, Target } from '../../http/transport.ts'
import { encodeHeaderValue } from '../../mcp/header-value.ts'
import type { Request } from '../../mcp/message.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { CallPurpose } from '../../trace/span.ts'

/** An MCP server over HTTP: at an address of its own, or at that of a named backend. */
export interface HttpTarget extends Called {
  /** The target of the next connection. Throws GatewayError while there is no endpoint. */
  target(): Target
  readonly path: string
  /** Policies add a credential to its calls. */
  readonly authenticated?: boolean
  /** Timeout in ms until the response head; undefined for none. */
  readonly timeout: number | undefined
}

/**
 * Calls to one address, under its own hostname: the client's host is the gateway's, and servers reject foreign hosts.
 */
export function callsTo(
  place: Target,
  runtime: Runtime,
  purpose: CallPurpose = PRIMARY.Mcp,
): Pick<HttpTarget, 'target' | 'send'> {
  const authority = authorityOf(place)
  return {
    target: () => place,
    send(own, attempt, on) {
      attempt.target = authority
      const { method, path, headers, authority: named } = own.request
      dispatch(
        runtime,
        own,
        place,
        {
          method,
          path,
          authority: own.authorityFixed ? named : authority,
          headers,
          body: own.body.bytes,
          timeout: attempt.timeout ?? 0,
          purpose,
        },
        on,
      )
    },
  }
}

export interface McpCall {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly path?: string
  readonly body: Buffer | undefined
  /** The target's session and revision, once known. */
  readonly session: string | undefined
  readonly version: string | undefined
  /** The target's event to resume its stream after. */
  readonly after?: string | undefined
  /** The body's method and params, for headers that repeat them. */
  readonly message?: Pick<Request, 'method' | 'params'>
}

/** Headers of the client's request that concern its own hop, or that the call sets itself. */
export const OWN_FIELDS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'origin',
])

/**
 * Calls a target for the client's request `x`, with the client's headers; the target's policies see the call as a
 * request of its own. Responses are requested uncompressed, since they are parsed. Returns the function that cancels
 * the call.
 */
export function callTarget(
  runtime: Runtime,
  target: HttpTarget,
  x: Exchange,
  call: McpCall,
  on: ResponseHandler,
): () => void {
  const place = placeOf(target)
  if (place instanceof Error) {
    on.fail(place)
    return () => {}
  }
  const request = {
    method: call.method,
    scheme: place.tls ? ('https' as const) : ('http' as const),
    authority: authorityOf(place),
    path: call.path ?? target.path,
    headers: callHeaders(x, call),
  }
  const own = derivedFrom(x, { request, body: bodyOf(call.body), purpose: PRIMARY.Mcp, scope: `target ${target.name}` })
  const timeout = x.attempts.at(-1)?.timeout || target.timeout || 0
  // Its answer may arrive through another call: messages are traced by the session.
  const made = makeCall(own, target, { purpose: PRIMARY.Mcp, timeout }, runtime, on)
  return () => made.cancel()
}

export function placeOf(target: HttpTarget): Target | Error {
  try {
    return target.target()
  } catch (error) {
    return asError(error)
  }
}

function callHeaders(x: Exchange, { method, session, version, after, message }: McpCall): HeaderList {
  const fields: string[] = []
  const { raw } = x.request.headers
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const lower = name.toLowerCase()
    if (OWN_FIELDS.has(lower) || (lower === 'mcp-protocol-version' && (version !== undefined || isModern(raw[i + 1]))))
      continue
    fields.push(name, raw[i + 1] as string)
  }
  if (method === 'POST') {
    fields.push('content-type', 'application/json', 'accept', 'application/json, text/event-stream')
  } else if (method === 'GET') fields.push('accept', 'text/event-stream')
  if (session !== undefined) fields.push('mcp-session-id', session)
  if (version !== undefined) fields.push('mcp-protocol-version', version)
  if (after !== undefined) fields.push('last-event-id', after)
  if (message && isModern(version)) fields.push(...standardHeaders(message))
  return new HeaderList(fields, true)
}

/** Since 2026-07-28 headers repeat what a request concerns. */
const MODERN = '2026-07-28'

function isModern(version: string | undefined): boolean {
  return version !== undefined && version >= MODERN
}

function standardHeaders({ method, params }: Pick<Request, 'method' | 'params'>): string[] {
  const name = params.name ?? params.uri ?? params.taskId
  const named = typeof name === 'string' ? ['mcp-name', encodeHeaderValue(name)] : []
  return ['mcp-method', method, ...named]
}
