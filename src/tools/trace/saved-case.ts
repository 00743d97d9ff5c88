import { ERRORS } from '../../http/errors.ts'
import { type RecordedRequest, recordedRequest } from '../events/recorded-request.ts'
import type { RequestTrace } from '../events/state.ts'

/** The part of a `gwctl test` case that can be derived from a trace. */
export interface SavedCase {
  readonly name: string
  readonly request: {
    readonly method?: string
    /** A call within its own session. */
    readonly mcp?: string
    readonly params?: unknown
    readonly url: string
    /** The configured port, if it differs from the URL's. */
    readonly port?: number
    /** By lower-case name, without credentials. */
    readonly headers?: Readonly<Record<string, readonly string[]>>
    readonly body?: string
    /** Claims of its token and metadata of its key, in place of the credentials. */
    readonly jwt?: Readonly<Record<string, unknown>>
    readonly apiKey?: Readonly<Record<string, unknown>>
    /** Address of the client. */
    readonly source?: string
  }
  /** Stubs for all services called. */
  readonly stubs?: { readonly '*': SavedStub | readonly SavedStub[] }
  readonly expect: { readonly status?: number; readonly route?: string; readonly backend?: string }
}

interface SavedStub {
  readonly status?: number
  readonly unreachable?: true
  readonly delay?: string
  readonly mcp?: { readonly tools: readonly string[] }
}

/** Derives a case from the trace of a request. */
export function savedCaseOf(trace: RequestTrace): SavedCase {
  const { method, url, path, end, steps } = trace
  const messages = steps.map(({ event }) => event.message)
  const route = messages.findLast(message => message.type === 'route')
  const backend = messages.find(message => message.type === 'backend')
  const recorded = recordedRequest(trace)
  const { port, protocol } = new URL(url)
  const said = Number(port) || (protocol === 'https:' ? 443 : 80)
  const call = sessionCallOf(trace, recorded)
  const stubs = call ? toolStub(call) : stubsOf(trace)
  return {
    name: `${method} ${path} ${end?.status ? `answers ${end.status}` : 'gets no answer'}`,
    request: {
      ...(call ? { mcp: call.method, ...(call.params === undefined ? {} : { params: call.params }) } : { method }),
      url,
      ...(recorded.port === undefined || recorded.port === said ? {} : { port: recorded.port }),
      ...sentWith(recorded, call !== undefined),
      ...(recorded.jwt && { jwt: recorded.jwt }),
      ...(typeof recorded.apiKey === 'object' && { apiKey: recorded.apiKey }),
      ...(recorded.source !== undefined && asksForSource(trace) ? { source: recorded.source } : {}),
    },
    ...(stubs.length === 0 ? {} : { stubs: { '*': stubs.length === 1 ? (stubs[0] as SavedStub) : stubs } }),
    expect: {
      ...(end?.status ? { status: end.status } : {}),
      ...(route?.type === 'route' && route.selected !== null ? { route: route.selected } : {}),
      ...(backend?.type === 'backend' ? { backend: backend.backend } : {}),
    },
  }
}

/** Why the case may have another outcome than the request. */
export function doubtsAbout(trace: RequestTrace): readonly string[] {
  const { end, steps } = trace
  const recorded = recordedRequest(trace)
  const head = steps.find(({ event }) => event.message.type === 'snapshot')
  const session = recorded.headers.some(([name]) => name.toLowerCase() === SESSION)
  return [
    ...(recorded.redacted.length === 0 ? [] : [`a trace does not have its ${recorded.redacted.join(', ')}`]),
    ...(end?.status === 429 ? ['a case begins with full budgets, so repeat the request before (repeat, steps)'] : []),
    ...(head === undefined ? ['its header fields are not in the trace'] : []),
    ...(lacksBody(trace, recorded) ? ['its body is not in the trace, or no text'] : []),
    ...(session && sessionCallOf(trace, recorded) === undefined && !NO_SESSION.test(end?.error ?? '')
      ? ['it belongs to a session, which a case does not have']
      : []),
    ...(end?.status === 101 ? ['a test case cannot switch protocols'] : []),
  ]
}

const SESSION = 'mcp-session-id'
/** The session itself was refused. */
const NO_SESSION = /^mcp: .*\bsession\b/

const TOO_LARGE = ERRORS.bodyTooLarge.status

/** A body that nothing read made no difference, unless it was too large to read. */
function lacksBody({ end }: RequestTrace, { body, bodyBytes, sentBody }: RecordedRequest): boolean {
  if (body !== undefined) return textOf(body) === undefined
  return bodyBytes > 0 || (sentBody && end?.status === TOO_LARGE)
}

interface Call {
  readonly method: string
  readonly params?: unknown
}

/** The source is omitted if nothing depends on it: it cannot be set on a running gateway. */
function asksForSource({ steps }: RequestTrace): boolean {
  return steps.some(({ event: { message } }) => message.type === 'cel' && /\bsource\b/.test(message.expression))
}

/** A call within an MCP session, whose id means nothing in a case. */
function sessionCallOf({ end }: RequestTrace, { headers, body }: RecordedRequest): Call | undefined {
  if (!headers.some(([name]) => name.toLowerCase() === SESSION) || NO_SESSION.test(end?.error ?? '')) return undefined
  try {
    const message = JSON.parse(body?.toString() ?? '') as { id?: unknown; method?: unknown; params?: unknown }
    if (message.id === undefined || typeof message.method !== 'string') return undefined
    return { method: message.method, params: message.params }
  } catch {
    return undefined
  }
}

/** By default the stub has no tools. */
function toolStub({ method, params }: Call): readonly SavedStub[] {
  const { name } = (params ?? {}) as { readonly name?: unknown }
  return method === 'tools/call' && typeof name === 'string' ? [{ mcp: { tools: [name] } }] : []
}

/** Sent by `gwctl test` itself for MCP methods; the length follows from the body. */
const SESSION_FIELDS = new Set(['content-type', 'accept', SESSION, 'mcp-protocol-version'])

function sentWith({ headers: all, body }: RecordedRequest, inSession: boolean) {
  const headers: Record<string, string[]> = {}
  for (const [written, value] of all) {
    const name = written.toLowerCase()
    // The URL contains the host.
    if (name === 'host' || (inSession && SESSION_FIELDS.has(name))) continue
    headers[name] = [...(headers[name] ?? []), value]
  }
  const text = inSession || body === undefined ? undefined : textOf(body)
  return {
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(text === undefined ? {} : { body: text }),
  }
}

/** One per call, or a single one if all are equal. */
function stubsOf({ end, steps }: RequestTrace): readonly SavedStub[] {
  const longer = `${Math.ceil((end?.at ?? 0) / 1_000_000) + 1}s`
  const answers = steps.flatMap(({ event: { message } }): readonly SavedStub[] => {
    if (message.type !== 'callEnd') return []
    const { status, error = '' } = message
    if (status !== undefined) return [{ status }]
    if (error.startsWith(ERRORS.upstreamTimeout.message)) return [{ delay: longer }]
    const gone = [ERRORS.upstreamFailed.message, ERRORS.dnsFailed.message].some(each => error.startsWith(each))
    return gone ? [{ unreachable: true }] : []
  })
  const all = end?.error === ERRORS.requestTimeout.message ? [...answers, { delay: longer }] : answers
  const [first] = all
  return all.every(each => JSON.stringify(each) === JSON.stringify(first)) ? all.slice(0, 1) : all
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
