/** Prometheus text 0.0.4, or OpenMetrics 1.0, which names a family without the suffix of its samples. */
export type MetricsFormat = 'prometheus' | 'openmetrics'

/**
 * Counts what happens, in the Prometheus data model. A metric is declared once, at start; a series is looked up once,
 * where its labels become known, and then costs an addition.
 */
export class MetricsRegistry {
  readonly #metrics = new Map<string, Metric>()
  #excluded: ReadonlySet<string> = new Set()

  /** These are not kept, whoever declares them later: names with or without prefix, unit and `_total`. */
  exclude(names: readonly string[]): void {
    this.#excluded = new Set(names.map(bareName))
    for (const name of this.#metrics.keys()) if (this.#excluded.has(bareName(name))) this.#metrics.delete(name)
  }

  counter(name: string, help: string, labels: readonly string[] = []): Family<Counter> {
    return this.#add(new Family('counter', name, help, labels, () => new Counter()))
  }

  gauge(name: string, help: string, labels: readonly string[] = []): Family<Gauge> {
    return this.#add(new Family('gauge', name, help, labels, () => new Gauge()))
  }

  /** `bounds` are the upper bounds of the buckets, ascending, without infinity. */
  histogram(name: string, help: string, bounds: readonly number[], labels: readonly string[] = []): Family<Histogram> {
    return this.#add(new Family('histogram', name, help, labels, () => new Histogram(bounds)))
  }

  /** Facts about the process as labels of a constant 1; `name` ends in `_info`. */
  info(name: string, help: string, facts: Readonly<Record<string, string>>): void {
    const family = new Family('info', name, help, Object.keys(facts), () => new Gauge())
    this.#add(family)
      .with(...Object.values(facts))
      .set(1)
  }

  /** Read when somebody asks for the metrics. */
  observed(name: string, help: string, read: () => number, type: 'gauge' | 'counter' = 'gauge'): void {
    this.#add({
      name,
      mute() {},
      render: format => `${heading(name, help, type, format)}${name} ${numberText(read())}\n`,
    })
  }

  /** The same with labels: `read` gives the label values and the value of each series. */
  observedEach(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [values: readonly string[], value: number]>,
  ): void {
    this.#add({
      name,
      mute() {},
      render: format => {
        let out = heading(name, help, 'gauge', format)
        for (const [values, value] of read()) {
          const text = labels.map((label, i) => `${label}="${labelText(values[i] ?? 'unknown')}"`).join(',')
          out += `${name}{${text}} ${numberText(value)}\n`
        }
        return out
      },
    })
  }

  render(format: MetricsFormat = 'prometheus'): string {
    let out = ''
    for (const metric of this.#metrics.values()) out += metric.render(format)
    return format === 'openmetrics' ? `${out}# EOF\n` : out
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
  /** Nobody will read it: series are no longer kept. */
  mute(): void
  render(format: MetricsFormat): string
}

type MetricType = 'counter' | 'gauge' | 'histogram' | 'info'

interface Cell {
  /** The lines of one series; `labels` is `a="b",c="d"` or empty. */
  render(name: string, labels: string): string
}

/** Label values come from requests too: one metric never holds more series than this, the rest is counted together. */
const MAX_SERIES = 10_000
const OVERFLOW = 'overflow'

/** The series of one metric. */
export class Family<C extends Cell> implements Metric {
  readonly name: string
  readonly #type: MetricType
  readonly #help: string
  readonly #labels: readonly string[]
  readonly #make: () => C
  readonly #series = new Map<string, { readonly labels: string; readonly cell: C }>()
  #silent: C | undefined

  constructor(type: MetricType, name: string, help: string, labels: readonly string[], make: () => C) {
    this.name = name
    this.#type = type
    this.#help = help
    this.#labels = labels
    this.#make = make
  }

  /** The series with these label values, in the order of the declaration; `unknown` stands for undefined. */
  with(...values: readonly (string | undefined)[]): C {
    if (this.#silent !== undefined) return this.#silent
    const key = values.join('\u0000')
    const found = this.#series.get(key)
    if (found) return found.cell
    if (this.#series.size >= MAX_SERIES && values[0] !== OVERFLOW) return this.with(...values.map(() => OVERFLOW))
    const labels = this.#labels.map((label, i) => `${label}="${labelText(values[i] ?? 'unknown')}"`).join(',')
    const cell = this.#make()
    this.#series.set(key, { labels, cell })
    return cell
  }

  mute(): void {
    this.#silent = this.#make()
  }

  render(format: MetricsFormat): string {
    let out = heading(this.name, this.#help, this.#type, format)
    for (const { labels, cell } of this.#series.values()) out += cell.render(this.name, labels)
    return out
  }
}

export class Counter implements Cell {
  #value = 0

  add(by = 1): void {
    this.#value += by
  }

  render(name: string, labels: string): string {
    return `${series(name, labels)} ${numberText(this.#value)}\n`
  }
}

export class Gauge implements Cell {
  #value = 0

  set(value: number): void {
    this.#value = value
  }

  add(by: number): void {
    this.#value += by
  }

  render(name: string, labels: string): string {
    return `${series(name, labels)} ${numberText(this.#value)}\n`
  }
}

export class Histogram implements Cell {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0
  #count = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.#sum += value
    this.#count++
    const bounds = this.#bounds
    for (let i = 0; i < bounds.length; i++) {
      if (value <= (bounds[i] as number)) {
        this.#counts[i] = (this.#counts[i] as number) + 1
        return
      }
    }
  }

  render(name: string, labels: string): string {
    const comma = labels === '' ? '' : ','
    let below = 0
    let out = ''
    for (const [i, bound] of this.#bounds.entries()) {
      below += this.#counts[i] as number
      out += `${name}_bucket{${labels}${comma}le="${floatText(bound)}"} ${below}\n`
    }
    out += `${name}_bucket{${labels}${comma}le="+Inf"} ${this.#count}\n`
    return `${out}${series(`${name}_sum`, labels)} ${numberText(this.#sum)}\n${series(`${name}_count`, labels)} ${this.#count}\n`
  }
}

function heading(name: string, help: string, type: MetricType, format: MetricsFormat): string {
  const open = format === 'openmetrics'
  let text = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  if (open) text = text.replaceAll('"', '\\"')
  const family = open ? name.replace(/_(?:total|info)$/, '') : name
  const unit = open ? /_(seconds|bytes)$/.exec(family)?.[1] : undefined
  const known = type === 'info' && !open ? 'gauge' : type
  return `# HELP ${family} ${text}\n# TYPE ${family} ${known}\n${unit ? `# UNIT ${family} ${unit}\n` : ''}`
}

function series(name: string, labels: string): string {
  return labels === '' ? name : `${name}{${labels}}`
}

function labelText(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

/** Bounds are written alike by everyone who follows OpenMetrics, so that queries find them. */
function floatText(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value)
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}
