export type MetricType = 'counter' | 'gauge' | 'histogram' | 'info'

/** A metric with its series as data: rendered, sent between threads and summed. */
export interface MetricFamily {
  /** Including the suffix of its samples: `_total` for a counter, `_info` for facts. */
  readonly name: string
  readonly help: string
  readonly type: MetricType
  /** Upper bounds of the buckets, ascending, without infinity; histograms only. */
  readonly bounds: readonly number[]
  /** Keyed by labels, `a="b",c="d"` or empty: one value; for a histogram the sum, then the count of each bucket. */
  readonly series: ReadonlyMap<string, ArrayLike<number>>
}

/** Sums the metrics of several threads: series with the same name and labels are merged. Facts are kept as they are. */
export function sumFamilies(all: Iterable<MetricFamily>): readonly MetricFamily[] {
  const sums = new Map<string, MetricFamily & { readonly series: Map<string, ArrayLike<number>> }>()
  for (const family of all) {
    const known = sums.get(family.name)
    if (known === undefined) {
      sums.set(family.name, { ...family, series: new Map(family.series) })
      continue
    }
    for (const [labels, values] of family.series) {
      const other = known.series.get(labels)
      if (other === undefined) known.series.set(labels, values)
      else if (family.type !== 'info') known.series.set(labels, sumOf(other, values))
    }
  }
  return [...sums.values()]
}

function sumOf(a: ArrayLike<number>, b: ArrayLike<number>): Float64Array {
  return Float64Array.from(a, (value, i) => value + (b[i] ?? 0))
}
