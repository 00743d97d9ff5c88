import { Cells } from './cells.ts'
import { labelsText, type MetricsFormat, renderMetrics } from './exposition.ts'
import type { MetricFamily } from './families.ts'

/** A new series as the exporting thread needs it: the values live in shared memory. */
export interface SharedSeries {
  readonly family: Omit<MetricFamily, 'series'>
  readonly labels: string
  readonly values: Float64Array
}

/**
 * Metrics in the Prometheus data model. A metric is declared once, at start; a series is looked up once its labels are
 * known, and then costs one addition.
 */
export class MetricsRegistry {
  readonly #metrics = new Map<string, Metric>()
  readonly #store: SeriesStore
  #excluded: ReadonlySet<string> = new Set()

  /** `announce`: called for each new series of a counter, gauge or histogram. */
  constructor(announce?: (series: SharedSeries) => void) {
    this.#store = { cells: new Cells(announce !== undefined), announce }
  }

  /** Disables these metrics, whenever they are declared: names with or without prefix, unit and `_total`. */
  exclude(names: readonly string[]): void {
    this.#excluded = new Set(names.map(bareName))
    for (const metric of this.#metrics.values()) {
      if (!this.#excluded.has(bareName(metric.name))) continue
      metric.mute()
      this.#metrics.delete(metric.name)
    }
  }

  /** `open`: the labels whose values clients control. */
  counter(name: string, help: string, labels: readonly string[] = [], open: readonly string[] = []): Family<Counter> {
    return this.#add(new Family({ name, help, type: 'counter', bounds: [] }, labels, open, Counter, this.#store))
  }

  gauge(name: string, help: string, labels: readonly string[] = []): Family<Gauge> {
    return this.#add(new Family({ name, help, type: 'gauge', bounds: [] }, labels, [], Gauge, this.#store))
  }

  /** `bounds` are the upper bounds of the buckets, ascending, without infinity; `open` as above. */
  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    labels: readonly string[] = [],
    open: readonly string[] = [],
  ): Family<Histogram> {
    return this.#add(new Family({ name, help, type: 'histogram', bounds }, labels, open, Histogram, this.#store))
  }

  /** Facts about the process as labels of a constant 1; `name` ends in `_info`. */
  info(name: string, help: string, facts: Readonly<Record<string, string>>): void {
    const read = () => [[Object.values(facts), 1] as const]
    this.#add(new Reading({ name, help, type: 'info', bounds: [] }, Object.keys(facts), read))
  }

  /** `read` is called when the metrics are collected. */
  observed(name: string, help: string, read: () => number, type: 'gauge' | 'counter' = 'gauge'): void {
    this.#add(new Reading({ name, help, type, bounds: [] }, [], () => [[[], read()]]))
  }

  /** A gauge with labels: `read` returns the label values and the value of each series. */
  observedEach(name: string, help: string, labels: readonly string[], read: ReadSeries): void {
    this.#add(new Reading({ name, help, type: 'gauge', bounds: [] }, labels, read))
  }

  families(): readonly MetricFamily[] {
    return [...this.#metrics.values()].map(metric => metric.family())
  }

  /** Those computed on collection, which are not announced. */
  readings(): readonly MetricFamily[] {
    return [...this.#metrics.values()].filter(metric => metric instanceof Reading).map(reading => reading.family())
  }

  render(format?: MetricsFormat): string {
    return renderMetrics(this.families(), format)
  }

  #add<M extends Metric>(metric: M): M {
    if (this.#metrics.has(metric.name)) throw new Error(`the metric ${metric.name} is declared twice`)
    if (this.#excluded.has(bareName(metric.name))) metric.mute()
    else this.#metrics.set(metric.name, metric)
    return metric
  }
}

const PREFIX = 'agentgateway_'

function bareName(name: string): string {
  const own = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name
  return own.replace(/_(?:total|info)$/, '').replace(/_(?:seconds|bytes)$/, '')
}

interface Metric {
  readonly name: string
  /** No longer exported: stops keeping series. */
  mute(): void
  family(): MetricFamily
}

type Head = Omit<MetricFamily, 'series'>
type ReadSeries = () => Iterable<readonly [labels: readonly string[], value: number]>

class Reading implements Metric {
  readonly #head: Head
  readonly #labels: readonly string[]
  readonly #read: ReadSeries

  constructor(head: Head, labels: readonly string[], read: ReadSeries) {
    this.#head = head
    this.#labels = labels
    this.#read = read
  }

  get name(): string {
    return this.#head.name
  }

  mute(): void {}

  family(): MetricFamily {
    const series = new Map<string, ArrayLike<number>>()
    for (const [labels, value] of this.#read()) series.set(labelsText(this.#labels, labels), [value])
    return { ...this.#head, series }
  }
}

interface SeriesStore {
  readonly cells: Cells
  readonly announce: ((series: SharedSeries) => void) | undefined
}

/** Label values may come from requests: series per metric are capped, and the rest is counted together. */
const MAX_SERIES = 10_000
const OVERFLOW = 'overflow'
/**
 * Distinct combinations of client-controlled label values per metric. A histogram has one line per bucket, and every
 * scrape reads them all.
 */
const MAX_OPEN = { counter: 2000, histogram: 200 }
/** Characters of a label value: a name could fill a whole body. */
const MAX_VALUE = 256

type CellType<C> = new (values: Float64Array, bounds: readonly number[]) => C

/** The series of one metric. */
export class Family<C> implements Metric {
  readonly #head: Head
  readonly #labels: readonly string[]
  readonly #Cell: CellType<C>
  readonly #store: SeriesStore
  readonly #series = new Map<string, C>()
  readonly #values = new Map<string, Float64Array>()
  /** The positions of the open labels, and their values seen so far. */
  readonly #open: readonly number[]
  readonly #chosen = new Set<string>()
  #silent: C | undefined

  constructor(head: Head, labels: readonly string[], open: readonly string[], Cell: CellType<C>, store: SeriesStore) {
    this.#head = head
    this.#open = open.map(label => labels.indexOf(label))
    this.#labels = labels
    this.#Cell = Cell
    this.#store = store
  }

  get name(): string {
    return this.#head.name
  }

  /** The series with these label values, in declaration order; undefined becomes `unknown`. */
  with(...values: readonly (string | undefined)[]): C {
    return this.#find(values, 1)
  }

  /** The same for unverified values: they get half of the capacity, so that verified ones find room. */
  unconfirmed(...values: readonly (string | undefined)[]): C {
    return this.#find(values, 0.5)
  }

  #find(values: readonly (string | undefined)[], share: number): C {
    if (this.#silent !== undefined) return this.#silent
    const key = values.join('\u0000')
    const found = this.#series.get(key)
    if (found) return found
    if (values.some(isTooLong)) {
      return this.#find(
        values.map(value => value?.slice(0, MAX_VALUE)),
        share,
      )
    }
    if (!this.#takes(values, share)) {
      return this.#find(
        values.map((value, i) => (this.#open.includes(i) ? OVERFLOW : value)),
        1,
      )
    }
    if (this.#series.size >= MAX_SERIES && values.some(value => value !== OVERFLOW)) {
      return this.#find(
        values.map(() => OVERFLOW),
        1,
      )
    }
    const cell = this.#begin(labelsText(this.#labels, values))
    this.#series.set(key, cell)
    return cell
  }

  /** Whether the client-controlled values are known, or there is room for them. */
  #takes(values: readonly (string | undefined)[], share: number): boolean {
    if (this.#open.length === 0) return true
    const chosen = this.#open.map(i => values[i])
    if (chosen.every(value => value === OVERFLOW)) return true
    const key = chosen.join('\u0000')
    if (this.#chosen.has(key)) return true
    const most = this.#head.type === 'histogram' ? MAX_OPEN.histogram : MAX_OPEN.counter
    if (this.#chosen.size >= most * share) return false
    this.#chosen.add(key)
    return true
  }

  mute(): void {
    this.#silent = new this.#Cell(new Float64Array(this.#size), this.#head.bounds)
  }

  family(): MetricFamily {
    return { ...this.#head, series: this.#values }
  }

  get #size(): number {
    return this.#head.type === 'histogram' ? this.#head.bounds.length + 2 : 1
  }

  /** Different label values may be written alike: `undefined` and `unknown`. */
  #begin(labels: string): C {
    const { cells, announce } = this.#store
    let values = this.#values.get(labels)
    if (values === undefined) {
      values = cells.take(this.#size)
      this.#values.set(labels, values)
      announce?.({ family: this.#head, labels, values })
    }
    return new this.#Cell(values, this.#head.bounds)
  }
}

function isTooLong(value: string | undefined): boolean {
  return value !== undefined && value.length > MAX_VALUE
}

export class Counter {
  readonly #values: Float64Array

  constructor(values: Float64Array) {
    this.#values = values
  }

  add(by = 1): void {
    this.#values[0]! += by
  }
}

export class Gauge {
  readonly #values: Float64Array

  constructor(values: Float64Array) {
    this.#values = values
  }

  set(value: number): void {
    this.#values[0] = value
  }

  add(by: number): void {
    this.#values[0]! += by
  }
}

export class Histogram {
  readonly #values: Float64Array
  readonly #bounds: readonly number[]

  constructor(values: Float64Array, bounds: readonly number[]) {
    this.#values = values
    this.#bounds = bounds
  }

  observe(value: number): void {
    const values = this.#values
    const bounds = this.#bounds
    let bucket = 0
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++
    values[0]! += value
    values[bucket + 1]! += 1
  }
}
