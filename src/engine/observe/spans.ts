import type { Exchange } from '../../http/exchange.ts'
import type { Sampling, SpanRules } from '../../policies/frontend/telemetry.ts'
import { encodeSpan, type SpanRecord } from '../../protobuf/otlp.ts'
import type { Clock } from '../../runtime/runtime.ts'
import type { CallFacts, CallPurpose, CallSpan, RequestSpan } from '../../trace/span.ts'
import { hidden, passes } from './access-log.ts'
import { computedValues, mcpMethodName, placeFields, requestFields } from './record-fields.ts'
import { randomId, readTraceParent, type TraceParent, traceParentText } from './trace-context.ts'

/** Calls recorded per request. */
const MAX_CALLS = 128

export interface SpanTools {
  readonly clock: Clock
  readonly random: () => number
  /** An encoded span. */
  readonly sink: { add(record: Uint8Array): void }
}

/** Decides which exchanges are sampled, and writes their spans when they end. */
export class Tracing {
  readonly #rules: SpanRules
  readonly #tools: SpanTools

  constructor(rules: SpanRules, tools: SpanTools) {
    this.#rules = rules
    this.#tools = tools
  }

  /** Sets `x.span` if the exchange is sampled. */
  started(x: Exchange): void {
    const parent = readTraceParent(x.received.headers)
    if (this.#samples(parent ? this.#rules.client : this.#rules.random, x)) {
      x.span = new ExchangeSpan(parent, x, this.#tools)
      // Trace Context section 3.3.1: vendor state of another trace does not apply to a new one.
      if (!parent) x.request.headers.delete('tracestate')
    }
  }

  /** `duration` in ms. */
  finished(x: Exchange, duration: number): void {
    const { span } = x
    if (!(span instanceof ExchangeSpan) || !passes(this.#rules, x)) return
    for (const record of span.calls) this.#tools.sink.add(encodeSpan(record))
    this.#tools.sink.add(encodeSpan(this.#root(x, span, duration)))
  }

  #root(x: Exchange, span: ExchangeSpan, duration: number): SpanRecord {
    const { add, without, spanName } = this.#rules
    const added = computedValues(add, x)
    const left = hidden(without, add.length, added)
    const attributes: [string, unknown][] = []
    const sink = {
      add(name: string, value: string | number) {
        if (name !== 'error' && !left?.has(name)) attributes.push([name, value])
      },
    }
    placeFields(x, sink)
    requestFields(x, duration, sink)
    sink.add('url.scheme', x.received.scheme)
    sink.add('network.protocol.version', x.httpVersion)
    for (const { name, value } of added) attributes.push([name, value])
    const named = spanName?.evaluate(x)
    const failed = x.response === undefined || x.response.status >= 500
    return {
      traceId: span.traceId,
      spanId: span.spanId,
      parentId: span.parentId,
      remoteParent: true,
      state: span.parentId === undefined ? undefined : x.received.headers.get('tracestate'),
      name: named?.ok && typeof named.value === 'string' && named.value !== '' ? named.value : defaultName(x),
      kind: 'server',
      start: x.startedAt,
      duration,
      attributes,
      error: failed ? (x.error ?? '') : undefined,
    }
  }

  #samples(share: Sampling, x: Exchange): boolean {
    if (typeof share === 'number') return share >= 1 || (share > 0 && this.#tools.random() < share)
    const outcome = share.evaluate(x)
    if (!outcome.ok) return false
    return typeof outcome.value === 'number' ? this.#tools.random() < outcome.value : outcome.value === true
  }
}

class ExchangeSpan implements RequestSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly calls: SpanRecord[] = []
  readonly #x: Exchange
  readonly #tools: SpanTools

  constructor(parent: TraceParent | undefined, x: Exchange, tools: SpanTools) {
    this.traceId = parent?.traceId ?? randomId(16, tools.random)
    this.spanId = randomId(8, tools.random)
    this.parentId = parent?.spanId
    this.#x = x
    this.#tools = tools
  }

  call(facts: CallFacts): CallSpan {
    const spanId = randomId(8, this.#tools.random)
    const { clock } = this.#tools
    const startedMono = clock.mono()
    let over = false
    return {
      traceparent: traceParentText(this.traceId, spanId),
      end: ({ target, status, error }) => {
        if (over || this.calls.length >= MAX_CALLS) return
        over = true
        this.calls.push({
          traceId: this.traceId,
          spanId,
          parentId: this.spanId,
          remoteParent: false,
          state: undefined,
          name: isGrpc(facts) ? facts.path.slice(1) : `${facts.method} ${target}`,
          kind: 'client',
          start: this.#x.startedAt + startedMono - this.#x.startedMono,
          duration: clock.mono() - startedMono,
          attributes: callAttributes(facts, target, status, error),
          error: error ?? (status !== undefined && status >= 400 ? '' : undefined),
        })
      },
    }
  }
}

function callAttributes(
  facts: CallFacts,
  target: string,
  status: number | undefined,
  error: string | undefined,
): [string, unknown][] {
  const attributes: [string, unknown][] = [
    ['agentgateway.outbound.kind', facts.kind],
    ['agentgateway.outbound.subtype', facts.subtype],
    ['endpoint', target],
    ['http.method', facts.method],
    ['http.path', withoutQuery(facts.path)],
  ]
  if (status !== undefined) attributes.push(['http.status', status])
  if (error !== undefined) attributes.push(['error.type', error])
  else if (status !== undefined && status >= 400) attributes.push(['error.type', String(status)])
  return attributes
}

/** Providers take keys as query parameters; the client's own path is in the root span unchanged. */
function withoutQuery(path: string): string {
  const query = path.indexOf('?')
  return query < 0 ? path : path.slice(0, query)
}

function isGrpc({ subtype, path }: CallPurpose & { readonly path: string }): boolean {
  return (subtype === 'ExtProc' || subtype === 'ExtAuthz' || subtype === 'RateLimit') && path.startsWith('/envoy.')
}

/** Only low-cardinality names: MCP methods, gRPC methods and configured paths. */
function defaultName(x: Exchange): string {
  const mcpMethod = mcpMethodName(x)
  if (mcpMethod !== undefined) return mcpMethod
  const { method, path, headers } = x.received
  if (headers.get('content-type')?.startsWith('application/grpc')) return path.slice(1)
  const matched = x.matchedPath
  if (matched === undefined) return method
  const { exact, pathPrefix, regex } = matched
  const shown = exact ?? regex?.source ?? `${pathPrefix?.replace(/\/$/, '') ?? ''}/*`
  return `${method} ${shown}`
}
