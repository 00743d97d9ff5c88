/** What is asked of one route, per second at full load. */
interface Played {
  readonly route: string
  readonly backend: string
  readonly requests: number
  /** Parts of all, by `STATUS REASON`. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Seconds; more than half of all come within it. */
  readonly median: number
  readonly bytes: number
  /** How busy it is in one look after the other. */
  readonly load: readonly number[]
}

const STEADY = [1]
const ROUTES: readonly Played[] = [
  {
    route: 'default/chat',
    backend: '/default/default/bind/3000/listener0/default/chat/backend0',
    requests: 20,
    outcomes: { '200 Upstream': 0.8, '429 RateLimit': 0.15, '503 UpstreamFailure': 0.05 },
    median: 0.2,
    bytes: 2_000,
    load: [0.4, 0.55, 0.75, 1, 0.55, 1],
  },
  {
    route: 'default/search',
    backend: '/default/default/bind/3000/listener0/default/search/backend0',
    requests: 45,
    outcomes: { '200 Upstream': 1 },
    median: 0.008,
    bytes: 520,
    load: [1, 0.55, 0.25, 0.55, 0.75, 1],
  },
  {
    route: 'default/mcp',
    backend: '/default/mcp',
    requests: 4,
    outcomes: { '200 Upstream': 1 },
    median: 0.03,
    bytes: 300,
    load: STEADY,
  },
  {
    route: 'default/a-route-that-has-a-rather-long-name',
    backend: 'unknown',
    requests: 2,
    outcomes: { '301 DirectResponse': 1 },
    median: 0.001,
    bytes: 0,
    load: STEADY,
  },
  {
    route: 'unknown',
    backend: 'unknown',
    requests: 1,
    outcomes: { '404 NotFound': 1 },
    median: 0.001,
    bytes: 20,
    load: STEADY,
  },
]
const MODELS = [
  { system: 'openai', model: 'gpt-5', requests: 24, failed: 2, median: 0.4, input: 96, output: 30 },
  { system: 'anthropic', model: 'claude-sonnet-4-5', requests: 8, failed: 0, median: 0.9, input: 60, output: 84 },
] as const
const TOOLS = [
  { server: 'everything', resource: 'get-sum', method: 'tools/call', requests: 6 },
  { server: 'unknown', resource: 'unknown', method: 'tools/list', requests: 2 },
] as const
const BUDGETS = [
  { limit: 'route:default/chat@routes.0/localRateLimit', counts: 'requests', at: 'gateway.yaml:12', left: 0, of: 50 },
  {
    limit: 'route:default/chat@routes.0/localRateLimit',
    counts: 'tokens',
    at: 'gateway.yaml:15',
    left: 64_200,
    of: 100_000,
  },
  {
    limit: 'route:default/search@routes.1/localRateLimit',
    counts: 'requests',
    at: 'gateway.yaml:31',
    left: 950,
    of: 1000,
  },
] as const
const BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

export type Plot = 'busy' | 'idle' | 'many'

/**
 * What a gateway with steady traffic says about itself, look by look: counters grow by so much per second, exactly, so
 * that whoever measures the time between two looks sees the same rates again and again.
 */
export class PlayedGateway {
  readonly #plot: Plot
  readonly #routes: readonly Played[]
  readonly #values = new Map<string, number>()
  readonly #started: number
  #look = -1

  /** `now`: seconds since the epoch. */
  constructor(plot: Plot, now: number) {
    this.#plot = plot
    this.#started = now - 7990
    this.#routes = plot === 'busy' ? ROUTES : plot === 'idle' ? [] : Array.from({ length: 500 }, (_, i) => manyth(i))
  }

  /** The exposition `seconds` after the look before. */
  look(seconds: number): string {
    this.#look++
    for (const played of this.#routes) this.#play(played, seconds)
    if (this.#plot === 'busy') this.#playOthers(seconds)
    this.#add('process_cpu_seconds_total', {}, 0.42 * seconds)
    const gauges = {
      process_start_time_seconds: this.#started,
      process_resident_memory_bytes: 182_400_000,
      agentgateway_workers: 4,
      agentgateway_requests_in_flight: this.#plot === 'idle' ? 0 : 17,
      'agentgateway_downstream_connections_active{bind="bind/3000"}': this.#plot === 'idle' ? 0 : 312,
    }
    const all = [...Object.entries(gauges), ...this.#values]
    return all.map(([series, value]) => `${series} ${value}\n`).join('')
  }

  #play({ route, backend, requests, outcomes, median, bytes, load }: Played, seconds: number): void {
    const came = requests * (load[(this.#look + load.length - 1) % load.length] as number) * seconds
    for (const [outcome, part] of Object.entries(outcomes)) {
      const [status = '', reason = ''] = outcome.split(' ')
      const labels = { backend, route, status, reason }
      this.#add('agentgateway_requests_total', labels, came * part)
      this.#add('agentgateway_response_bytes_total', labels, came * part * bytes)
      this.#observe('agentgateway_request_duration_seconds', labels, came * part, median)
    }
  }

  #playOthers(seconds: number): void {
    for (const { system, model, requests, failed, median, input, output } of MODELS) {
      const labels = { gen_ai_system: system, gen_ai_request_model: model }
      this.#observe('agentgateway_gen_ai_server_request_duration', labels, requests * seconds, median)
      this.#observe('agentgateway_gen_ai_server_time_to_first_token', labels, requests * seconds, median / 4)
      this.#add('agentgateway_gen_ai_server_errors_total', { status: '500', ...labels }, failed * seconds)
      for (const [type, tokens] of [
        ['input', input],
        ['output', output],
      ] as const) {
        this.#add(
          'agentgateway_gen_ai_client_token_usage_sum',
          { gen_ai_token_type: type, ...labels },
          tokens * seconds,
        )
      }
    }
    for (const { requests, ...labels } of TOOLS)
      this.#add('agentgateway_mcp_requests_total', labels, requests * seconds)
    for (const { left, of, ...labels } of BUDGETS) {
      this.#values.set(series('agentgateway_rate_limit_remaining', labels), left)
      this.#values.set(series('agentgateway_rate_limit_capacity', labels), of)
    }
  }

  /** Most take as long as the median and some twenty times that. */
  #observe(name: string, labels: Readonly<Record<string, string>>, came: number, median: number): void {
    for (const bound of BOUNDS) {
      const part = bound >= 20 * median ? 1 : bound >= 2 * median ? 0.93 : bound >= median ? 0.55 : 0
      this.#add(`${name}_bucket`, { ...labels, le: String(bound) }, came * part)
    }
    this.#add(`${name}_bucket`, { ...labels, le: '+Inf' }, came)
    this.#add(`${name}_count`, labels, came)
  }

  #add(name: string, labels: Readonly<Record<string, string>>, by: number): void {
    const key = series(name, labels)
    this.#values.set(key, (this.#values.get(key) ?? 0) + by)
  }
}

function manyth(i: number): Played {
  const name = String(i).padStart(3, '0')
  const backend = `/default/default/bind/3000/listener0/default/route-${name}/backend0`
  return {
    route: `default/route-${name}`,
    backend,
    requests: 99 - (i % 99),
    outcomes: { '200 Upstream': 1 },
    median: 0.02,
    bytes: 100,
    load: STEADY,
  }
}

function series(name: string, labels: Readonly<Record<string, string>>): string {
  const text = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return text.length === 0 ? name : `${name}{${text.join(',')}}`
}
