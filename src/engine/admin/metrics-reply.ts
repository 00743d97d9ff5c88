import { METRICS_TYPES, type MetricsFormat, metricsPieces } from '../metrics/exposition.ts'
import type { MetricFamily } from '../metrics/families.ts'
import { type AdminReply, type AdminRequest, PIECE } from './table.ts'

/**
 * `/metrics` in the format that the client likes better (RFC 9110 section 12.5.1). OpenMetrics goes to whoever asks for
 * it by name; everybody else, also one who takes neither, can do more with Prometheus text than with a refusal.
 */
export function metricsReply(families: readonly MetricFamily[], { headers }: AdminRequest): AdminReply {
  const format = preferredFormat(headers.accept)
  return {
    status: 200,
    type: 'text/plain',
    body: metricsPieces(families, format, PIECE),
    headers: { 'content-type': METRICS_TYPES[format], vary: 'accept' },
  }
}

function preferredFormat(accept: string | undefined): MetricsFormat {
  if (accept === undefined) return 'prometheus'
  let open = 0
  let plain = { fits: -1, quality: 0 }
  for (const range of accept.split(',').map(readRange)) {
    if (range.type === 'application/openmetrics-text' && (range.version ?? '1.0.0') === '1.0.0') {
      open = Math.max(open, range.quality)
    }
    const fits = PLAIN.indexOf(range.type)
    if (fits < 0 || (range.version ?? '0.0.4') !== '0.0.4') continue
    // The most specific range says how much a type is liked.
    if (fits > plain.fits || (fits === plain.fits && range.quality > plain.quality)) plain = { ...range, fits }
  }
  return open > 0 && open >= plain.quality ? 'openmetrics' : 'prometheus'
}

/** Ranges that text/plain is in, the most specific one last. */
const PLAIN = ['*/*', 'text/*', 'text/plain']

/** `text/plain;version=0.0.4;q=0.5`. A quality that is none counts as 0: nothing was said that could be kept to. */
function readRange(text: string) {
  const [type = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase())
  const values = new Map(parameters.map(each => each.split('=', 2).map(part => part.trim()) as [string, string]))
  const q = values.get('q') ?? '1'
  const quality = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 0
  return { type, version: values.get('version')?.replace(/^"(.*)"$/, '$1'), quality }
}
