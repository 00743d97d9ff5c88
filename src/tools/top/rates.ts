import type { Sample } from './exposition.ts'

/** What went on between two looks, per second. */
export interface RouteRate {
  readonly route: string
  readonly requests: number
  readonly failed: number
  readonly limited: number
  /** ms; undefined when nothing came. */
  readonly median: number | undefined
  readonly slow: number | undefined
  readonly bytes: number
}

export interface ModelRate {
  readonly model: string
  readonly provider: string
  readonly calls: number
  /** ms; undefined when nothing came. */
  readonly median: number | undefined
  readonly slow: number | undefined
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface BudgetLeft {
  readonly limit: string
  /** `FILE:LINE`. */
  readonly at: string
  readonly counts: string
  readonly remaining: number
  readonly capacity: number
}

export interface Rates {
  readonly total: number
  readonly inFlight: number
  readonly routes: readonly RouteRate[]
  readonly models: readonly ModelRate[]
  /** The scarcest first. */
  readonly budgets: readonly BudgetLeft[]
}

/** `seconds` lie between the two. The busiest come first. */
export function ratesOf(before: readonly Sample[], now: readonly Sample[], seconds: number): Rates {
  const earlier = new Map(before.map(sample => [keyOf(sample), sample.value]))
  // A counter that is lower than before has started anew.
  const grown = now.map(sample => {
    const then = earlier.get(keyOf(sample)) ?? 0
    return { ...sample, value: sample.value >= then ? sample.value - then : sample.value }
  })
  const routes = routeRates(grown, seconds)
  return {
    total: routes.reduce((sum, route) => sum + route.requests, 0),
    inFlight: sum(now.filter(({ name }) => name === 'agentgateway_requests_in_flight')),
    routes,
    models: modelRates(grown, seconds),
    budgets: budgetsOf(now),
  }
}

function routeRates(grown: readonly Sample[], seconds: number): RouteRate[] {
  const requests = grown.filter(({ name }) => name === 'agentgateway_requests_total')
  const bytes = grown.filter(({ name }) => name === 'agentgateway_response_bytes_total')
  const buckets = grown.filter(({ name }) => name === 'agentgateway_request_duration_seconds_bucket')
  const ofRoute = (samples: readonly Sample[]) => Map.groupBy(samples, ({ labels }) => labels.route ?? 'unknown')
  const [byteGroups, bucketGroups] = [ofRoute(bytes), ofRoute(buckets)]
  return [...ofRoute(requests)]
    .map(([route, own]) => ({
      route: route === 'unknown' ? '(no route)' : route,
      requests: sum(own) / seconds,
      failed: sum(own.filter(({ labels }) => /^5/.test(labels.status ?? ''))) / seconds,
      limited: sum(own.filter(({ labels }) => labels.status === '429')) / seconds,
      median: quantile(bucketGroups.get(route) ?? [], 0.5),
      slow: quantile(bucketGroups.get(route) ?? [], 0.99),
      bytes: sum(byteGroups.get(route) ?? []) / seconds,
    }))
    .sort((a, b) => b.requests - a.requests || (a.route < b.route ? -1 : 1))
}

function modelRates(grown: readonly Sample[], seconds: number): ModelRate[] {
  const usage = grown.filter(({ name }) => /^agentgateway_gen_ai_client_token_usage_(sum|count)$/.test(name))
  const named = ({ labels }: Sample) => `${labels.gen_ai_system}/${labels.gen_ai_request_model}`
  const groups = Map.groupBy(usage, named)
  const buckets = Map.groupBy(
    grown.filter(({ name }) => name === 'agentgateway_gen_ai_server_request_duration_bucket'),
    named,
  )
  return [...groups.values()]
    .map(own => {
      const { gen_ai_system: provider = '', gen_ai_request_model: model = '' } = own[0]?.labels ?? {}
      const of = (end: string, type: string) =>
        sum(own.filter(({ name, labels }) => name.endsWith(end) && labels.gen_ai_token_type === type)) / seconds
      return {
        model,
        provider,
        calls: of('_count', 'output'),
        median: quantile(own[0] ? (buckets.get(named(own[0])) ?? []) : [], 0.5),
        slow: quantile(own[0] ? (buckets.get(named(own[0])) ?? []) : [], 0.99),
        inputTokens: of('_sum', 'input'),
        outputTokens: of('_sum', 'output'),
      }
    })
    .sort((a, b) => b.calls - a.calls || (a.model < b.model ? -1 : 1))
}

function budgetsOf(now: readonly Sample[]): BudgetLeft[] {
  const keyed = (labels: Sample['labels']) => `${labels.limit} ${labels.counts} ${labels.at}`
  const capacities = new Map(
    now
      .filter(({ name }) => name === 'agentgateway_rate_limit_capacity')
      .map(({ labels, value }) => [keyed(labels), value]),
  )
  return now
    .filter(({ name }) => name === 'agentgateway_rate_limit_remaining')
    .map(({ labels, value }) => ({
      limit: labels.limit ?? '',
      at: labels.at ?? '',
      counts: labels.counts ?? '',
      remaining: value,
      capacity: capacities.get(keyed(labels)) ?? value,
    }))
    .sort((a, b) => a.remaining / Math.max(1, a.capacity) - b.remaining / Math.max(1, b.capacity))
}

/** ms below which so great a part of the observations lies, interpolated within its bucket as Prometheus does. */
function quantile(buckets: readonly Sample[], part: number): number | undefined {
  const byBound = new Map<number, number>()
  for (const { labels, value } of buckets) {
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)
    byBound.set(bound, (byBound.get(bound) ?? 0) + value)
  }
  const sorted = [...byBound].sort(([a], [b]) => a - b)
  const total = sorted.at(-1)?.[1] ?? 0
  if (total === 0) return undefined
  const rank = part * total
  let [lower, below] = [0, 0]
  for (const [bound, count] of sorted) {
    if (count >= rank) {
      if (bound === Number.POSITIVE_INFINITY) return lower * 1000
      return (lower + ((bound - lower) * (rank - below)) / Math.max(1, count - below)) * 1000
    }
    lower = bound
    below = count
  }
  return lower * 1000
}

function keyOf({ name, labels }: Sample): string {
  return `${name}${JSON.stringify(labels)}`
}

function sum(samples: readonly Sample[]): number {
  return samples.reduce((all, { value }) => all + value, 0)
}
