import type { Attempt, Exchange, LlmFacts } from '../../http/exchange.ts'
import type { ComputedField } from '../../policies/frontend/telemetry.ts'
import type { CallPurpose } from '../../trace/span.ts'
import type { Counter, Family, Histogram, MetricsRegistry } from '../metrics/registry.ts'
import { plain } from './access-log.ts'
import { gatewayName, mcpMethodName, OTHER_METHOD, routeName, timePerOutputToken, UNKNOWN } from './record-fields.ts'

const DURATIONS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 80]
const PROCESSING = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25]
const TOKENS = Array.from({ length: 14 }, (_, i) => 4 ** i)
const LLM_DURATIONS = Array.from({ length: 14 }, (_, i) => Math.round(2 ** i) / 100)
const PER_TOKEN = [0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]
const FIRST_TOKEN = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

const PLACE = ['bind', 'gateway', 'listener', 'route', 'route_rule']
const OUTCOME = ['backend', 'protocol', 'method', 'status', 'reason', ...PLACE]
// Values come from clients, or from upstreams of their choice.
const MODELS = ['gen_ai_request_model', 'gen_ai_response_model']
const GEN_AI = ['gen_ai_operation_name', 'gen_ai_system', 'gen_ai_request_model', 'gen_ai_response_model', ...PLACE]

/** Methods with their own series: over HTTP/2 a client may send any. The empty one is for malformed heads. */
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE', '']

/** The metrics of requests, with the public system's names and labels. */
export class RequestMetrics {
  readonly #labels: readonly ComputedField[]
  readonly #requests: Family<Counter>
  readonly #retries: Family<Counter>
  readonly #bytes: Family<Counter>
  readonly #duration: Family<Histogram>
  readonly #before: Family<Histogram>
  readonly #after: Family<Histogram>
  readonly #calls: Family<Histogram>
  readonly #guards: Family<Counter>
  readonly #mcp: Family<Counter>
  readonly #a2a: Family<Counter>
  readonly #llm: LlmMetrics
  /** By route (or by listener, or this object if the request did not get that far); one place per backend. */
  readonly #places = new WeakMap<object, Place[]>()

  constructor(metrics: MetricsRegistry, labels: readonly ComputedField[]) {
    const own = labels.map(label => label.name)
    const outcome = [...OUTCOME, ...own]
    const place = ['backend', ...PLACE, ...own]
    this.#labels = labels
    this.#requests = metrics.counter('agentgateway_requests_total', 'HTTP requests answered.', outcome, own)
    this.#retries = metrics.counter('agentgateway_retries_total', 'Upstream retries.', outcome, own)
    this.#bytes = metrics.counter('agentgateway_response_bytes_total', 'Bytes of response bodies sent.', outcome, own)
    this.#duration = metrics.histogram(
      'agentgateway_request_duration_seconds',
      'Time from the request head to the last byte of the response.',
      DURATIONS,
      outcome,
      own,
    )
    this.#before = metrics.histogram(
      'agentgateway_request_processing_seconds',
      'Time from the request head to the first upstream call.',
      PROCESSING,
      place,
      own,
    )
    this.#after = metrics.histogram(
      'agentgateway_response_processing_seconds',
      'Time from the upstream response head to the head of the response.',
      PROCESSING,
      place,
      own,
    )
    this.#calls = metrics.histogram(
      'agentgateway_upstream_call_duration_seconds',
      'Time from the start of an outbound call to its response head or failure.',
      DURATIONS,
      ['kind', 'subtype'],
    )
    this.#mcp = metrics.counter(
      'agentgateway_mcp_requests_total',
      'MCP requests.',
      ['method', 'resource_type', 'server', 'resource', ...PLACE, ...own],
      ['resource', ...own],
    )
    this.#a2a = metrics.counter(
      'agentgateway_a2a_requests_total',
      'A2A requests, by the last state of their task.',
      ['method', 'task_state', ...PLACE, ...own],
      ['method', 'task_state', ...own],
    )
    this.#guards = metrics.counter('agentgateway_guardrail_checks_total', 'Verdicts of guards.', ['phase', 'action'])
    this.#llm = new LlmMetrics(metrics, own)
  }

  /** `duration` in ms. */
  finished(x: Exchange, duration: number): void {
    const place = this.#placeOf(x)
    const own = this.#labels.length > 0 ? this.#valuesOf(x) : NO_VALUES
    const series = place.series(x, own)
    series.requests.add(1)
    series.bytes.add(x.responseBytes)
    series.duration.observe(duration / 1000)
    if (x.attempts.length > 0) this.#attempts(x, place, own, series)
    if (x.guardChecks) for (const { phase, action } of x.guardChecks) this.#guards.with(phase, action).add(1)
    if (x.a2a) this.#a2a.with(x.a2a.method, x.a2a.state, ...place.labels.slice(5), ...own).add(1)
    if (x.mcp?.method !== undefined) this.#mcpRequest(x, place, own)
    if (x.llm && x.attempts.length > 0) this.#llm.finished(x, x.llm, duration, [...place.labels.slice(5), ...own])
  }

  /** A call made for a policy or on the gateway's own behalf; `duration` in ms. */
  called({ kind, subtype }: CallPurpose, duration: number): void {
    this.#calls.with(kind, subtype).observe(duration / 1000)
  }

  #attempts(x: Exchange, place: Place, own: readonly string[], series: Series): void {
    const { attempts } = x
    const first = attempts[0] as Attempt
    const last = attempts[attempts.length - 1] as Attempt
    if (attempts.length > 1) {
      series.retries ??= this.#retries.with(...series.labels)
      series.retries.add(attempts.length - 1)
    }
    const processing = place.processing(own)
    processing.before.observe((first.startedAt - x.startedMono) / 1000)
    if (last.status !== undefined && last.duration !== undefined && x.answeredMono !== undefined) {
      processing.after.observe(Math.max(0, x.answeredMono - last.startedAt - last.duration) / 1000)
    }
    for (const { duration } of attempts) if (duration !== undefined) processing.calls.observe(duration / 1000)
  }

  #mcpRequest(x: Exchange, place: Place, own: readonly string[]): void {
    const { tool, prompt, resource } = x.mcp!
    const item = tool ?? prompt ?? resource
    const type = tool ? 'tool' : prompt ? 'prompt' : resource ? 'resource' : undefined
    this.#mcp.with(mcpMethodName(x), type, item?.target, item?.name, ...place.labels.slice(5), ...own).add(1)
  }

  #valuesOf(x: Exchange): string[] {
    return this.#labels.map(({ value }) => {
      const outcome = value.evaluate(x)
      if (!outcome.ok || outcome.value === null) return UNKNOWN
      const made = plain(outcome.value)
      return typeof made === 'object' ? JSON.stringify(made) : String(made)
    })
  }

  #placeOf(x: Exchange): Place {
    const key = x.route ?? x.listener ?? x.bind ?? this
    // Without a call there is no backend to report, even if the route has chosen one.
    const backend = x.attempts.length > 0 ? x.backend : undefined
    const known = this.#places.get(key)
    if (known) {
      for (const place of known) if (place.backend === backend) return place
    }
    const place = new Place(x, backend, {
      requests: this.#requests,
      bytes: this.#bytes,
      duration: this.#duration,
      before: this.#before,
      after: this.#after,
      calls: this.#calls,
    })
    if (known) known.push(place)
    else this.#places.set(key, [place])
    return place
  }
}

const NO_VALUES: readonly string[] = []

interface Families {
  readonly requests: Family<Counter>
  readonly bytes: Family<Counter>
  readonly duration: Family<Histogram>
  readonly before: Family<Histogram>
  readonly after: Family<Histogram>
  readonly calls: Family<Histogram>
}

interface Series {
  readonly labels: readonly string[]
  readonly requests: Counter
  readonly bytes: Counter
  readonly duration: Histogram
  retries: Counter | undefined
}

interface Processing {
  readonly before: Histogram
  readonly after: Histogram
  readonly calls: Histogram
}

/** One route and backend: its series are found by a number per outcome, without rebuilding labels. */
class Place {
  readonly backend: Exchange['backend']
  /** Label values of an outcome; `method`, `status` and `reason` are filled in per series. */
  readonly labels: readonly string[]
  readonly #families: Families
  /** By method and status, for backend responses: nearly all of the traffic. */
  readonly #answered = new Map<number, Series>()
  readonly #refused = new Map<string, Series>()
  #processing: Processing | undefined

  constructor(x: Exchange, backend: Exchange['backend'], families: Families) {
    this.backend = backend
    this.#families = families
    this.labels = [
      backend ? (backend.key ?? backend.name) : UNKNOWN,
      backend?.protocol ?? 'http',
      '',
      '',
      '',
      x.bind?.key ?? UNKNOWN,
      gatewayName(x) ?? UNKNOWN,
      x.listener?.name ?? UNKNOWN,
      routeName(x) ?? UNKNOWN,
      x.route?.ruleName ?? UNKNOWN,
    ]
  }

  series(x: Exchange, own: readonly string[]): Series {
    const status = x.response?.status ?? 0
    const method = METHODS.indexOf(x.received.method)
    if (own.length > 0) return this.#make(x, status, method, own)
    const outcome = (method + 1) * 1024 + status
    if (x.reason !== 'Upstream')
      return remembered(this.#refused, `${outcome} ${x.reason}`, () => this.#make(x, status, method, own))
    return remembered(this.#answered, outcome, () => this.#make(x, status, method, own))
  }

  processing(own: readonly string[]): Processing {
    if (this.#processing && own.length === 0) return this.#processing
    const { before, after, calls } = this.#families
    const values = [this.labels[0], ...this.labels.slice(5), ...own]
    const made = {
      before: before.with(...values),
      after: after.with(...values),
      calls: calls.with('Primary', SUBTYPE[this.backend?.protocol ?? 'http']),
    }
    this.#processing = made
    return made
  }

  #make(x: Exchange, status: number, method: number, own: readonly string[]): Series {
    const labels = [...this.labels, ...own]
    labels[2] = method < 0 ? OTHER_METHOD : METHODS[method] || UNKNOWN
    labels[3] = String(status)
    labels[4] = x.reason
    const { requests, bytes, duration } = this.#families
    return {
      labels,
      requests: requests.with(...labels),
      bytes: bytes.with(...labels),
      duration: duration.with(...labels),
      retries: undefined,
    }
  }
}

const SUBTYPE = { http: 'Http', tcp: 'Http', a2a: 'Http', mcp: 'Mcp', llm: 'Llm' } as const

export function subtypeOf(backend: Exchange['backend']): 'Http' | 'Mcp' | 'Llm' {
  return SUBTYPE[backend?.protocol ?? 'http']
}

function remembered<K, V>(known: Map<K, V>, key: K, make: () => V): V {
  const found = known.get(key)
  if (found !== undefined) return found
  const made = make()
  known.set(key, made)
  return made
}

class LlmMetrics {
  readonly #tokens: Family<Histogram>
  readonly #duration: Family<Histogram>
  readonly #perToken: Family<Histogram>
  readonly #firstToken: Family<Histogram>
  readonly #errors: Family<Counter>
  readonly #cost: Family<Counter>
  readonly #lookUps: Family<Counter>

  constructor(metrics: MetricsRegistry, own: readonly string[]) {
    const [labels, open] = [
      [...GEN_AI, ...own],
      [...MODELS, ...own],
    ]
    this.#tokens = metrics.histogram(
      'agentgateway_gen_ai_client_token_usage',
      'Tokens used by LLM calls.',
      TOKENS,
      ['gen_ai_token_type', ...labels],
      open,
    )
    this.#duration = metrics.histogram(
      'agentgateway_gen_ai_server_request_duration',
      'Seconds that LLM requests took.',
      LLM_DURATIONS,
      labels,
      open,
    )
    this.#perToken = metrics.histogram(
      'agentgateway_gen_ai_server_time_per_output_token',
      'Seconds per output token after the first.',
      PER_TOKEN,
      labels,
      open,
    )
    this.#firstToken = metrics.histogram(
      'agentgateway_gen_ai_server_time_to_first_token',
      'Seconds until the first output token.',
      FIRST_TOKEN,
      labels,
      open,
    )
    this.#errors = metrics.counter(
      'agentgateway_gen_ai_server_errors_total',
      'LLM requests that failed.',
      ['status', ...labels],
      open,
    )
    this.#cost = metrics.counter(
      'agentgateway_gen_ai_client_cost_usd_total',
      'Cost of LLM calls in US dollars, per the catalog.',
      labels,
      open,
    )
    this.#lookUps = metrics.counter(
      'agentgateway_cost_catalog_lookups_total',
      'LLM calls by cost catalog lookup status.',
      ['status', ...labels],
      open,
    )
  }

  finished(x: Exchange, llm: LlmFacts, duration: number, rest: readonly string[]): void {
    const labels = [llm.operation ?? 'chat', llm.provider, llm.requestModel, llm.responseModel ?? UNKNOWN, ...rest]
    const counts = [
      ['input', llm.inputTokens],
      ['output', llm.outputTokens],
      ['input_cache_read', llm.cachedInputTokens],
      ['input_cache_write', llm.cacheCreationInputTokens],
    ] as const
    for (const [type, tokens] of counts) {
      if (tokens !== undefined) this.#tokens.with(type, ...labels).observe(tokens)
    }
    if (llm.prices && llm.totalTokens !== undefined) {
      const { status, cost } = llm.prices.lookUp(llm)
      this.#lookUps.with(status, ...labels).add(1)
      if (cost) this.#cost.with(...labels).add(cost.total)
    }
    const status = x.response?.status ?? 0
    // A successful response verifies the model's name.
    ;(status < 400 ? this.#duration.with(...labels) : this.#duration.unconfirmed(...labels)).observe(duration / 1000)
    if (status >= 400) this.#errors.unconfirmed(String(status), ...labels).add(1)
    if (!llm.streaming || llm.timeToFirstToken === undefined) return
    this.#firstToken.with(...labels).observe(llm.timeToFirstToken / 1000)
    const each = timePerOutputToken(x, llm)
    if (each !== undefined) this.#perToken.with(...labels).observe(each / 1000)
  }
}
