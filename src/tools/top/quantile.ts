import type { Sample } from './exposition.ts'

/** ms; undefined without observations. */
export interface Latency {
  readonly p50: number | undefined
  readonly p90: number | undefined
  readonly p99: number | undefined
}

/** From the buckets of histograms with equal bounds, in seconds. */
export function latencyOf(buckets: readonly Sample[]): Latency {
  const byBound = new Map<number, number>()
  for (const { labels, value } of buckets) {
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)
    byBound.set(bound, (byBound.get(bound) ?? 0) + value)
  }
  const sorted = [...byBound].sort(([a], [b]) => a - b)
  const part = (of: number) => {
    const seconds = quantile(sorted, of)
    return seconds === undefined ? undefined : seconds * 1000
  }
  return { p50: part(0.5), p90: part(0.9), p99: part(0.99) }
}

/** The quantile, interpolated within its bucket as Prometheus does. */
function quantile(buckets: readonly (readonly [bound: number, count: number])[], part: number): number | undefined {
  const total = buckets.at(-1)?.[1] ?? 0
  if (total <= 0) return undefined
  const rank = part * total
  let lower = 0
  let below = 0
  for (const [bound, count] of buckets) {
    if (count >= rank && count > below) {
      return bound === Number.POSITIVE_INFINITY ? lower : lower + ((bound - lower) * (rank - below)) / (count - below)
    }
    lower = bound
    below = count
  }
  return lower
}
