import { bodyOf, Exchange, type Reply } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import type { Runtime } from '../../http/runtime.ts'
import type { CallSpan } from '../../http/span.ts'
import type { ResponseHandler, Target } from '../../http/transport.ts'
import type { Hooks } from '../../policies/policy.ts'

/** An MCP server reached over HTTP. */
export interface HttpTarget {
  readonly name: string
  readonly place: Target
  readonly path: string
  /** Its own name: the client's host is the gateway's, and servers guard against foreign ones. */
  readonly authority: string
  /** ms until the response head; undefined: none. */
  readonly timeout: number | undefined
  /** Policies of this target alone. */
  readonly hooks: readonly Hooks[]
}

export interface McpCall {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly path?: string
  readonly body: Buffer | undefined
  /** The target's session and revision, once it has one. */
  readonly session: string | undefined
  readonly version: string | undefined
}

/** Fields of the client's request that are about its own hop, or that the call sets itself. */
const OWN_FIELDS = new Set([
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'mcp-session-id',
  'origin',
])

/**
 * Calls a target on behalf of the client's request `x`, with the client's header fields. Replies come uncompressed:
 * they are read. Returns what cancels the call.
 */
export function callTarget(
  runtime: Runtime,
  target: HttpTarget,
  x: Exchange,
  call: McpCall,
  on: ResponseHandler,
): () => void {
  const headers = callHeaders(x, call)
  const span = x.span?.call({ ...PURPOSE, method: call.method, path: call.path ?? target.path })
  if (span) {
    headers.set('traceparent', span.traceparent)
    return callWithPolicies(runtime, target, x, headers, call, spanned(on, span, target))
  }
  return callWithPolicies(runtime, target, x, headers, call, on)
}

const PURPOSE = { kind: 'Primary', subtype: 'Mcp' } as const

/** The same handler, which ends the span too. */
function spanned(on: ResponseHandler, span: CallSpan, { authority }: HttpTarget): ResponseHandler {
  return {
    head(status, headers) {
      span.end({ target: authority, status })
      return on.head(status, headers)
    },
    fail(error) {
      span.end({ target: authority, error: error.message })
      on.fail(error)
    },
  }
}

function callWithPolicies(
  runtime: Runtime,
  target: HttpTarget,
  x: Exchange,
  headers: HeaderList,
  call: McpCall,
  on: ResponseHandler,
): () => void {
  if (target.hooks.length === 0) return dispatch(runtime, target, x, headers, call, on)
  let canceled = false
  let cancel: (() => void) | undefined
  applyPolicies(target, x, headers, call).then(
    made => {
      if (canceled) return
      if (made instanceof Exchange) cancel = dispatch(runtime, target, made, made.request.headers, call, on)
      else answer(made, on)
    },
    (error: Error) => {
      if (!canceled) on.fail(error)
    },
  )
  return () => {
    canceled = true
    cancel?.()
  }
}

function dispatch(
  { transport }: Runtime,
  target: HttpTarget,
  x: Exchange,
  headers: HeaderList,
  call: McpCall,
  on: ResponseHandler,
): () => void {
  const timeout = x.attempts.at(-1)?.timeout || target.timeout
  const handle = transport.dispatch(
    target.place,
    {
      method: call.method,
      path: call.path ?? target.path,
      authority: x.authorityFixed ? x.request.authority : target.authority,
      headers,
      body: call.body,
      ...(timeout === undefined ? {} : { timeout }),
    },
    on,
  )
  return () => handle.cancel()
}

function callHeaders(x: Exchange, { method, session, version }: McpCall): HeaderList {
  const fields: string[] = []
  const { raw } = x.request.headers
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const lower = name.toLowerCase()
    if (OWN_FIELDS.has(lower) || (lower === 'mcp-protocol-version' && version !== undefined)) continue
    fields.push(name, raw[i + 1] as string)
  }
  if (method === 'POST') {
    fields.push('content-type', 'application/json', 'accept', 'application/json, text/event-stream')
  } else if (method === 'GET') fields.push('accept', 'text/event-stream')
  if (session !== undefined) fields.push('mcp-session-id', session)
  if (version !== undefined) fields.push('mcp-protocol-version', version)
  return new HeaderList(fields, true)
}

/** The policies see the call as a request of its own. */
async function applyPolicies(
  target: HttpTarget,
  x: Exchange,
  headers: HeaderList,
  call: McpCall,
): Promise<Exchange | Reply> {
  const own = new Exchange({
    id: x.id,
    connection: x.connection,
    startedAt: x.startedAt,
    startedMono: x.startedMono,
    httpVersion: x.httpVersion,
    request: {
      method: call.method,
      scheme: target.place.tls ? 'https' : 'http',
      authority: target.authority,
      path: call.path ?? target.path,
      headers,
    },
    body: bodyOf(call.body),
  })
  Object.assign(own.auth, x.auth)
  Object.assign(own.metadata, x.metadata)
  own.route = x.route
  own.listener = x.listener
  own.backend = x.backend
  own.mcp = x.mcp
  own.trace = x.trace
  const attempt = { index: 0, target: target.name, startedAt: x.startedAt, timeout: target.timeout ?? 0 }
  for (const hooks of target.hooks) {
    const reply = (await hooks.request?.(own)) ?? (await hooks.attempt?.(own, attempt))
    if (reply) return reply
  }
  return own
}

function answer(reply: Reply, on: ResponseHandler): void {
  const sink = on.head(reply.status, new HeaderList(reply.headers))
  if (reply.body !== undefined) sink.write(Buffer.from(reply.body))
  sink.end()
}
