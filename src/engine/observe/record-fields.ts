import { hostOf } from '../../http/authority.ts'
import type { A2aFacts, Exchange, LlmFacts, McpFacts } from '../../http/exchange.ts'
import { isMcpMethod } from '../../mcp/methods.ts'
import type { ComputedField } from '../../policies/frontend/telemetry.ts'

/** Receives the fields of a record in order. */
export interface FieldSink {
  /** A default field; the sink omits it if the configuration says so. */
  add(name: string, value: string | number): void
}

/** A computed field and its value: plain data (`Outcome` of an expression). */
export interface ComputedValue {
  readonly name: string
  readonly value: unknown
}

/** For absent label and field values in metrics and traces. */
export const UNKNOWN = 'unknown'
/** In labels and span names: any non-standard method, since clients may send arbitrary ones. */
export const OTHER_METHOD = '_OTHER'

/** The MCP method for labels and span names. */
export function mcpMethodName(x: Exchange): string | undefined {
  const method = x.mcp?.method
  return method === undefined || isMcpMethod(method) ? method : OTHER_METHOD
}

export function gatewayName(x: Exchange): string | undefined {
  return x.listener && `${x.listener.namespace}/default`
}

export function routeName(x: Exchange): string | undefined {
  return x.route && `${x.route.namespace}/${x.route.name}`
}

/** Where in the configuration the request was routed: common to all requests of a route. */
export function placeFields(x: Exchange, sink: FieldSink): void {
  if (!x.listener) return
  sink.add('gateway', gatewayName(x)!)
  sink.add('listener', x.listener.name)
  if (!x.route) return
  if (x.route.ruleName !== undefined) sink.add('route_rule', x.route.ruleName)
  sink.add('route', routeName(x)!)
}

/** The remaining fields, in the public system's order; `duration` in ms. */
export function requestFields(x: Exchange, duration: number, sink: FieldSink): void {
  const last = x.attempts.at(-1)
  const { connection, received } = x
  if (last) sink.add('endpoint', last.target)
  sink.add('src.addr', `${connection.address}:${connection.port}`)
  if (connection.tls?.identity !== undefined) sink.add('src.identity', connection.tls.identity)
  // A malformed head has none of these.
  if (received.method !== '') {
    sink.add('http.method', received.method)
    sink.add('http.host', hostOf(received.authority))
    sink.add('http.path', received.path)
    sink.add('http.version', `HTTP/${x.httpVersion}`)
  }
  if (x.response) sink.add('http.status', x.response.status)
  const grpc = x.httpVersion === '1.1' ? undefined : grpcStatus(x)
  if (grpc !== undefined) sink.add('grpc.status', grpc)
  if (connection.tls?.sni !== undefined) sink.add('tls.sni', connection.tls.sni)
  if (x.span) {
    sink.add('trace.id', x.span.traceId)
    sink.add('span.id', x.span.spanId)
  }
  const sub = x.auth.jwt?.sub
  if (typeof sub === 'string') sink.add('jwt.sub', sub)
  sink.add('protocol', x.a2a ? 'a2a' : last ? (x.backend?.protocol ?? 'http') : 'http')
  if (x.mcp) mcpFields(x.mcp, sink)
  if (x.a2a) a2aFields(x.a2a, sink)
  if (x.llm) llmFields(x, x.llm, sink)
  if (last && last.index > 0) sink.add('retry.attempt', last.index)
  if (x.error !== undefined) sink.add('error', x.error)
  if (x.reason !== 'Upstream') sink.add('reason', x.reason)
  sink.add('duration', `${Math.floor(duration)}ms`)
}

/** The results of expressions; failures and nulls are omitted. */
export function computedValues(fields: readonly ComputedField[], x: Exchange): ComputedValue[] {
  const out: ComputedValue[] = []
  for (const { name, value } of fields) {
    const outcome = value.evaluate(x)
    if (!outcome.ok || outcome.value === null || outcome.value === undefined) continue
    if (value.flattens && isMap(outcome.value)) {
      for (const key in outcome.value) out.push({ name: `${name}.${key}`, value: outcome.value[key] })
    } else out.push({ name, value: outcome.value })
  }
  return out
}

/** From the head of a reply without a body, or from its trailers. */
function grpcStatus(x: Exchange): number | undefined {
  const { response } = x
  const text = response?.headers.get('grpc-status') ?? fieldIn(response?.trailers, 'grpc-status')
  return text !== undefined && /^\d{1,3}$/.test(text) ? Number(text) : undefined
}

function fieldIn(flat: readonly string[] | undefined, name: string): string | undefined {
  if (flat === undefined) return undefined
  for (let i = 0; i + 1 < flat.length; i += 2) if (flat[i]!.toLowerCase() === name) return flat[i + 1]
  return undefined
}

function mcpFields(mcp: McpFacts, sink: FieldSink): void {
  const { tool, prompt, resource } = mcp
  const item = tool ?? prompt ?? resource
  if (mcp.method !== undefined) sink.add('mcp.method.name', mcp.method)
  if (item) sink.add('mcp.target', item.target)
  if (resource) {
    sink.add('mcp.resource.type', 'resource')
    sink.add('mcp.resource.uri', resource.name)
  } else if (item) sink.add('mcp.resource.type', tool ? 'tool' : 'prompt')
  if (tool) sink.add('gen_ai.tool.name', tool.name)
  if (prompt) sink.add('gen_ai.prompt.name', prompt.name)
  if (mcp.sessionId !== undefined) sink.add('mcp.session.id', mcp.sessionId)
}

function a2aFields({ method, task, state, error }: A2aFacts, sink: FieldSink): void {
  sink.add('a2a.method', method)
  if (task !== undefined) sink.add('a2a.task.id', task)
  if (state !== undefined) sink.add('a2a.task.state', state)
  if (error !== undefined) sink.add('a2a.error.code', error)
}

const USAGE = [
  ['gen_ai.usage.input_tokens', 'inputTokens'],
  ['gen_ai.usage.cache_creation.input_tokens', 'cacheCreationInputTokens'],
  ['gen_ai.usage.cache_read.input_tokens', 'cachedInputTokens'],
  ['gen_ai.usage.output_tokens', 'outputTokens'],
  ['gen_ai.usage.reasoning_tokens', 'reasoningTokens'],
] as const

const PARAMETERS = [
  ['gen_ai.request.temperature', 'temperature'],
  ['gen_ai.request.top_p', 'top_p'],
  ['gen_ai.request.max_tokens', 'max_tokens'],
  ['gen_ai.request.frequency_penalty', 'frequency_penalty'],
  ['gen_ai.request.presence_penalty', 'presence_penalty'],
  ['gen_ai.request.seed', 'seed'],
  ['gen_ai.embeddings.dimension.count', 'dimensions'],
  ['gen_ai.request.encoding_formats', 'encoding_format'],
] as const

function llmFields(x: Exchange, llm: LlmFacts, sink: FieldSink): void {
  sink.add('gen_ai.operation.name', llm.operation ?? 'chat')
  sink.add('gen_ai.provider.name', llm.provider)
  sink.add('gen_ai.request.model', llm.requestModel)
  if (llm.responseModel !== undefined) sink.add('gen_ai.response.model', llm.responseModel)
  if (llm.lossCount !== undefined) sink.add('gwctl.llm.losses', llm.lossCount)
  for (const [name, member] of USAGE) {
    const tokens = llm[member]
    if (tokens !== undefined) sink.add(name, tokens)
  }
  const cost = llm.prices?.lookUp(llm).cost
  if (cost) sink.add('agw.ai.usage.cost.total', cost.total)
  // A non-streamed response arrives with its last token.
  if (llm.streaming && llm.timeToFirstToken !== undefined) {
    sink.add('agw.ai.time_to_first_token', seconds(llm.timeToFirstToken))
    const each = timePerOutputToken(x, llm)
    if (each !== undefined) sink.add('agw.ai.time_per_output_token', seconds(each))
  }
  if (llm.params === undefined) return
  for (const [name, member] of PARAMETERS) {
    const value = llm.params[member]
    if (value !== undefined) sink.add(name, value)
  }
}

/** ms from the first token to the end, divided by the output tokens. */
export function timePerOutputToken(x: Exchange, llm: LlmFacts): number | undefined {
  const call = x.attempts.at(-1)
  if (!call || llm.timeToFirstToken === undefined || !llm.outputTokens || x.endedMono === undefined) return undefined
  return Math.max(0, x.endedMono - call.startedAt - llm.timeToFirstToken) / llm.outputTokens
}

function seconds(ms: number): string {
  return `${ms / 1000}s`
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !Buffer.isBuffer(value) &&
    !(value instanceof Date)
  )
}
