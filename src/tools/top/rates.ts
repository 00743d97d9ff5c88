import type { Sample } from './exposition.ts'
import { type Latency, latencyOf } from './quantile.ts'

/** Activity between two samples: counts per second, latencies in ms, sizes in bytes. */
export interface Rates {
  readonly total: Totals
  /** Busiest first. */
  readonly routes: readonly Traffic[]
  readonly models: readonly ModelRate[]
  readonly mcp: readonly McpRate[]
  readonly a2a: readonly A2aRate[]
  readonly backends: readonly Traffic[]
  /** Scarcest first. */
  readonly budgets: readonly BudgetLeft[]
}

/** Undefined if the gateway does not report it. */
export interface Totals extends Outcomes, Latency {
  readonly inFlight: number | undefined
  readonly connections: number | undefined
  readonly workers: number | undefined
  readonly memory: number | undefined
  /** 1 is one fully used processor. */
  readonly processors: number | undefined
  /** Seconds since the epoch. */
  readonly started: number | undefined
  /** False: a changed file was refused, and the previous configuration is served. */
  readonly synchronized: boolean | undefined
}

interface Outcomes {
  readonly requests: number
  /** Responses with 4xx, including 429. */
  readonly refused: number
  readonly limited: number
  /** Responses with 5xx. */
  readonly failed: number
}

/** Requests of one route or to one backend. */
export interface Traffic extends Outcomes, Latency {
  readonly name: string
  readonly retries: number
  readonly bytes: number
  /** Most frequent first. */
  readonly outcomes: readonly { readonly status: string; readonly reason: string; readonly requests: number }[]
}

export interface ModelRate extends Latency {
  readonly name: string
  readonly provider: string
  readonly requests: number
  readonly failed: number
  /** Median in ms; undefined if nothing was streamed. */
  readonly firstToken: number | undefined
  readonly inputTokens: number
  readonly outputTokens: number
  /** Undefined if costs are not tracked. */
  readonly usdPerHour: number | undefined
}

export interface McpRate {
  readonly target: string
  /** A tool, prompt or resource; empty for other requests. */
  readonly item: string
  readonly method: string
  readonly requests: number
}

export interface A2aRate {
  readonly method: string
  /** As last reported by the agent; empty if it reported none. */
  readonly state: string
  readonly requests: number
}

export interface BudgetLeft {
  readonly limit: string
  /** `FILE:LINE`. */
  readonly at: string
  readonly counts: string
  readonly remaining: number
  readonly capacity: number
}

/** `seconds`: the time between the two. */
export function ratesOf(before: readonly Sample[], now: readonly Sample[], seconds: number): Rates {
  const earlier = new Map(before.map(({ series, value }) => [series, value]))
  // A counter that decreased has been reset.
  const grown = now.map(sample => {
    const then = earlier.get(sample.series) ?? 0
    const { name, labels, series, value } = sample
    return { name, labels, series, value: value >= then ? value - then : value }
  })
  const growth = new Looked(grown, seconds)
  const gauges = new Looked(now, 1)
  return {
    total: totalsOf(growth, gauges),
    routes: trafficBy('route', growth).map(each => (each.name === UNKNOWN ? { ...each, name: '(no route)' } : each)),
    models: modelRates(growth),
    mcp: mcpRates(growth),
    a2a: a2aRates(growth),
    backends: trafficBy('backend', growth).filter(({ name }) => name !== UNKNOWN),
    budgets: budgetsOf(gauges),
  }
}

const UNKNOWN = 'unknown'

/** Samples by metric. */
class Looked {
  readonly #byName: ReadonlyMap<string, readonly Sample[]>
  readonly #seconds: number

  constructor(samples: readonly Sample[], seconds: number) {
    this.#byName = Map.groupBy(samples, ({ name }) => name)
    this.#seconds = seconds
  }

  of(name: string): readonly Sample[] {
    return this.#byName.get(name) ?? []
  }

  by(name: string, key: (labels: Sample['labels']) => string): (of: string) => readonly Sample[] {
    const groups = Map.groupBy(this.of(name), ({ labels }) => key(labels))
    return of => groups.get(of) ?? []
  }

  /** Undefined if there is no such metric. */
  sum(name: string): number | undefined {
    const samples = this.#byName.get(name)
    return samples === undefined ? undefined : sum(samples)
  }

  perSecond(samples: readonly Sample[]): number {
    return sum(samples) / this.#seconds
  }
}

function totalsOf(growth: Looked, now: Looked): Totals {
  const cpu = growth.of('process_cpu_seconds_total')
  const synchronized = now.sum('config_synchronized')
  return {
    ...outcomesOf(growth.of('requests_total'), growth),
    ...latencyOf(growth.of('request_duration_seconds_bucket')),
    inFlight: now.sum('requests_in_flight'),
    connections: now.sum('downstream_connections_active'),
    // The second names are the public system's.
    workers: now.sum('workers') ?? now.sum('tokio_num_workers'),
    memory: now.sum('process_resident_memory_bytes') ?? now.sum('process_rss'),
    processors: cpu.length === 0 ? undefined : growth.perSecond(cpu),
    started: now.sum('process_start_time_seconds'),
    synchronized: synchronized === undefined ? undefined : synchronized > 0,
  }
}

function outcomesOf(requests: readonly Sample[], growth: Looked): Outcomes {
  const answered = (status: RegExp) => requests.filter(({ labels }) => status.test(labels.status ?? ''))
  return {
    requests: growth.perSecond(requests),
    refused: growth.perSecond(answered(/^4/)),
    limited: growth.perSecond(answered(/^429$/)),
    failed: growth.perSecond(answered(/^5/)),
  }
}

function trafficBy(label: 'route' | 'backend', growth: Looked): Traffic[] {
  const named = (labels: Sample['labels']) => labels[label] ?? UNKNOWN
  const buckets = growth.by('request_duration_seconds_bucket', named)
  const bytes = growth.by('response_bytes_total', named)
  const retries = growth.by('retries_total', named)
  return [...Map.groupBy(growth.of('requests_total'), ({ labels }) => named(labels))]
    .map(([name, requests]) => ({
      name,
      ...outcomesOf(requests, growth),
      ...latencyOf(buckets(name)),
      retries: growth.perSecond(retries(name)),
      bytes: growth.perSecond(bytes(name)),
      outcomes: [...Map.groupBy(requests, ({ labels: { status = '', reason = '' } }) => `${status} ${reason}`).values()]
        .map(same => {
          const { status = '', reason = '' } = same[0]?.labels ?? {}
          return { status, reason, requests: growth.perSecond(same) }
        })
        .sort((a, b) => b.requests - a.requests || compare(a.status + a.reason, b.status + b.reason)),
    }))
    .sort((a, b) => b.requests - a.requests || compare(a.name, b.name))
}

function modelRates(growth: Looked): ModelRate[] {
  const named = ({ gen_ai_system = '', gen_ai_request_model = '' }: Sample['labels']) =>
    JSON.stringify([gen_ai_system, gen_ai_request_model])
  const group = (name: string) => growth.by(`gen_ai_${name}`, named)
  const requests = group('server_request_duration_count')
  const buckets = group('server_request_duration_bucket')
  const firstToken = group('server_time_to_first_token_bucket')
  const [tokens, tokenCounts] = [group('client_token_usage_sum'), group('client_token_usage_count')]
  const errors = group('server_errors_total')
  const cost = growth.of('gen_ai_client_cost_usd_total').length > 0 ? group('client_cost_usd_total') : undefined
  const known = ['server_request_duration_count', 'client_token_usage_count'].flatMap(name =>
    growth.of(`gen_ai_${name}`).map(({ labels }) => named(labels)),
  )
  const ofType = (samples: readonly Sample[], type: string) =>
    growth.perSecond(samples.filter(({ labels }) => labels.gen_ai_token_type === type))
  return [...new Set(known)]
    .map(key => {
      const [provider, name] = JSON.parse(key) as [string, string]
      const own = requests(key)
      return {
        name,
        provider,
        requests: own.length > 0 ? growth.perSecond(own) : ofType(tokenCounts(key), 'output'),
        failed: growth.perSecond(errors(key)),
        ...latencyOf(buckets(key)),
        firstToken: latencyOf(firstToken(key)).p50,
        inputTokens: ofType(tokens(key), 'input'),
        outputTokens: ofType(tokens(key), 'output'),
        usdPerHour: cost && growth.perSecond(cost(key)) * 3600,
      }
    })
    .sort((a, b) => b.requests - a.requests || compare(a.name, b.name))
}

const known = (value: string | undefined) => (value === undefined || value === UNKNOWN ? '' : value)

function a2aRates(growth: Looked): A2aRate[] {
  return [
    ...Map.groupBy(growth.of('a2a_requests_total'), ({ labels: { method, task_state } }) =>
      JSON.stringify([known(method), known(task_state)]),
    ),
  ]
    .map(([key, own]) => {
      const [method, state] = JSON.parse(key) as [string, string]
      return { method, state, requests: growth.perSecond(own) }
    })
    .sort((a, b) => b.requests - a.requests || compare(a.method + a.state, b.method + b.state))
}

function mcpRates(growth: Looked): McpRate[] {
  return [
    ...Map.groupBy(growth.of('mcp_requests_total'), ({ labels: { server, resource, method } }) =>
      JSON.stringify([known(server), known(resource), known(method)]),
    ),
  ]
    .map(([key, own]) => {
      const [target, item, method] = JSON.parse(key) as [string, string, string]
      return { target, item, method, requests: growth.perSecond(own) }
    })
    .sort((a, b) => b.requests - a.requests || compare(a.target + a.item, b.target + b.item))
}

function budgetsOf(now: Looked): BudgetLeft[] {
  const keyed = ({ limit, counts, at }: Sample['labels']) => JSON.stringify([limit, counts, at])
  const capacities = now.by('rate_limit_capacity', keyed)
  return now
    .of('rate_limit_remaining')
    .map(({ labels, value }) => ({
      limit: labels.limit ?? '',
      at: labels.at ?? '',
      counts: labels.counts ?? '',
      remaining: value,
      capacity: capacities(keyed(labels))[0]?.value ?? value,
    }))
    .sort((a, b) => leftOf(a) - leftOf(b))
}

/** From 0, exhausted, to 1. */
export function leftOf({ remaining, capacity }: BudgetLeft): number {
  return Math.min(1, Math.max(0, remaining / Math.max(1, capacity)))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function sum(samples: readonly Sample[]): number {
  return samples.reduce((all, { value }) => all + value, 0)
}
