import type { MetricFamily } from './families.ts'

/** Prometheus text 0.0.4, or OpenMetrics 1.0, where a family's name lacks the suffix of its samples. */
export type MetricsFormat = 'prometheus' | 'openmetrics'

export const METRICS_TYPES: { readonly [F in MetricsFormat]: string } = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

export function renderMetrics(families: Iterable<MetricFamily>, format: MetricsFormat = 'prometheus'): string {
  return [...metricsPieces(families, format, Number.POSITIVE_INFINITY)].join('')
}

/** The same in pieces of about that many characters. */
export function* metricsPieces(
  families: Iterable<MetricFamily>,
  format: MetricsFormat,
  size: number,
): Generator<string, void> {
  let text = ''
  for (const family of families) {
    text += heading(family, format)
    const samples = family.type === 'histogram' ? histogramSamples : valueSample
    for (const [labels, values] of family.series) {
      text += samples(family, labels, values)
      if (text.length < size) continue
      yield text
      text = ''
    }
  }
  yield format === 'openmetrics' ? `${text}# EOF\n` : text
}

/**
 * Labels as written between braces. Text that is not valid Unicode is replaced, so that equal texts are equal series.
 */
export function labelsText(names: readonly string[], values: readonly (string | undefined)[]): string {
  return names
    .map((name, i) => `${name}="${escaped((values[i] ?? 'unknown').toWellFormed()).replaceAll('"', '\\"')}"`)
    .join(',')
}

function heading({ name, help, type }: MetricFamily, format: MetricsFormat): string {
  const open = format === 'openmetrics'
  const text = open ? escaped(help).replaceAll('"', '\\"') : escaped(help)
  const family = open ? name.replace(/_(?:total|info)$/, '') : name
  const unit = open ? /_(seconds|bytes)$/.exec(family)?.[1] : undefined
  const known = type === 'info' && !open ? 'gauge' : type
  return `# HELP ${family} ${text}\n# TYPE ${family} ${known}\n${unit ? `# UNIT ${family} ${unit}\n` : ''}`
}

function valueSample({ name }: MetricFamily, labels: string, values: ArrayLike<number>): string {
  return `${sampleName(name, labels)} ${numberText(values[0] ?? 0)}\n`
}

/** The count is taken from the buckets: another thread may be adding to them, and all samples must be consistent. */
function histogramSamples({ name, bounds }: MetricFamily, labels: string, values: ArrayLike<number>): string {
  const comma = labels === '' ? '' : ','
  let below = 0
  let out = ''
  for (let i = 0; i <= bounds.length; i++) {
    below += values[i + 1] ?? 0
    const bound = bounds[i]
    out += `${name}_bucket{${labels}${comma}le="${bound === undefined ? '+Inf' : floatText(bound)}"} ${below}\n`
  }
  const sum = numberText(values[0] ?? 0)
  return `${out}${sampleName(`${name}_sum`, labels)} ${sum}\n${sampleName(`${name}_count`, labels)} ${below}\n`
}

function sampleName(name: string, labels: string): string {
  return labels === '' ? name : `${name}{${labels}}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

/** The bounds' canonical OpenMetrics form, so that queries match. */
function floatText(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value)
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}
