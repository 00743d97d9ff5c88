import type { Exchange } from '../http/exchange.ts'
import type { Logger } from '../http/runtime.ts'
import type { MetricsRegistry } from './metrics-registry.ts'

const DURATIONS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 80]
const TOKENS = Array.from({ length: 14 }, (_, i) => 4 ** i)

/** What is left behind by each exchange once it is over: one log record, and the metrics. */
export class Observer {
  readonly #log: Logger
  readonly #requests
  readonly #bytes
  readonly #duration
  readonly #tokens

  constructor(log: Logger, metrics: MetricsRegistry) {
    this.#log = log
    const labels = [
      'backend',
      'protocol',
      'method',
      'status',
      'reason',
      'bind',
      'gateway',
      'listener',
      'route',
      'route_rule',
    ]
    this.#requests = metrics.counter('agentgateway_requests_total', 'Requests answered.', labels)
    this.#bytes = metrics.counter('agentgateway_response_bytes_total', 'Bytes of response bodies sent.', labels)
    this.#duration = metrics.histogram(
      'agentgateway_request_duration_seconds',
      'Time from the request head to the last byte of the response.',
      DURATIONS,
      labels,
    )
    this.#tokens = metrics.histogram('agentgateway_gen_ai_client_token_usage', 'Tokens used by LLM calls.', TOKENS, [
      'gen_ai_token_type',
      'gen_ai_system',
      'gen_ai_request_model',
      'gen_ai_response_model',
      'route',
    ])
  }

  finished(x: Exchange): void {
    const duration = (x.endedMono ?? x.startedMono) - x.startedMono
    const status = x.response?.status ?? 0
    const labels = [
      x.backend?.name ?? 'unknown',
      x.backend?.protocol ?? 'http',
      x.received.method,
      String(status),
      x.reason,
      x.bind?.key ?? 'unknown',
      x.listener ? `${x.listener.namespace}/default` : 'unknown',
      x.listener?.name ?? 'unknown',
      x.route ? `${x.route.namespace}/${x.route.name}` : 'unknown',
      x.route?.ruleName ?? 'unknown',
    ]
    this.#requests.with(...labels).add(1)
    this.#bytes.with(...labels).add(x.responseBytes)
    this.#duration.with(...labels).observe(duration / 1000)
    if (x.llm) this.#llm(x)
    this.#log.log('info', '', fieldsOf(x, status, duration))
  }

  #llm(x: Exchange): void {
    const llm = x.llm!
    const rest = [
      llm.provider,
      llm.requestModel,
      llm.responseModel ?? 'unknown',
      x.route ? `${x.route.namespace}/${x.route.name}` : 'unknown',
    ]
    if (llm.inputTokens !== undefined) this.#tokens.with('input', ...rest).observe(llm.inputTokens)
    if (llm.outputTokens !== undefined) this.#tokens.with('output', ...rest).observe(llm.outputTokens)
  }
}

/** The fields of an access log record in their order; absent ones are left out. */
function fieldsOf(x: Exchange, status: number, duration: number): Record<string, string | number | boolean> {
  const f: Record<string, string | number | boolean> = {}
  if (x.listener) {
    f['gateway'] = `${x.listener.namespace}/default`
    f['listener'] = x.listener.name
  }
  if (x.route) f['route'] = `${x.route.namespace}/${x.route.name}`
  const last = x.attempts.at(-1)
  if (last) f['endpoint'] = last.target
  f['src.addr'] = `${x.connection.address}:${x.connection.port}`
  f['http.method'] = x.received.method
  f['http.host'] = x.received.authority
  f['http.path'] = x.received.path
  f['http.version'] = `HTTP/${x.httpVersion}`
  f['http.status'] = status
  const sub = x.auth.jwt?.['sub']
  if (typeof sub === 'string') f['jwt.sub'] = sub
  if (x.backend) f['protocol'] = x.backend.protocol
  if (x.mcp?.method !== undefined) f['mcp.method.name'] = x.mcp.method
  if (x.mcp?.tool) {
    f['mcp.target'] = x.mcp.tool.target
    f['gen_ai.tool.name'] = x.mcp.tool.name
  }
  if (x.mcp?.sessionId !== undefined) f['mcp.session.id'] = x.mcp.sessionId
  if (x.llm) llmFields(x.llm, f)
  if (last && last.index > 0) f['retry.attempt'] = last.index
  if (x.error !== undefined) f['error'] = x.error
  if (x.reason !== 'Upstream') f['reason'] = x.reason
  f['duration'] = `${Math.round(duration)}ms`
  return f
}

function llmFields(llm: NonNullable<Exchange['llm']>, f: Record<string, string | number | boolean>): void {
  f['gen_ai.provider.name'] = llm.provider
  f['gen_ai.request.model'] = llm.requestModel
  if (llm.responseModel !== undefined) f['gen_ai.response.model'] = llm.responseModel
  if (llm.inputTokens !== undefined) f['gen_ai.usage.input_tokens'] = llm.inputTokens
  if (llm.outputTokens !== undefined) f['gen_ai.usage.output_tokens'] = llm.outputTokens
}
