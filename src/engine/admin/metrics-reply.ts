import { METRICS_TYPES, type MetricsFormat, metricsPieces } from '../metrics/exposition.ts'
import type { MetricFamily } from '../metrics/families.ts'
import { type AdminReply, type AdminRequest, PIECE } from './table.ts'

/**
 * `/metrics` in the client's preferred format (RFC 9110 section 12.5.1). OpenMetrics is sent only if named explicitly;
 * other clients, even those that accept neither, get Prometheus text rather than an error.
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
    // The most specific range determines the quality.
    if (fits > plain.fits || (fits === plain.fits && range.quality > plain.quality)) plain = { ...range, fits }
  }
  return open > 0 && open >= plain.quality ? 'openmetrics' : 'prometheus'
}

/** Ranges that match text/plain, the most specific last. */
const PLAIN = ['*/*', 'text/*', 'text/plain']

/** `text/plain;version=0.0.4;q=0.5`. An invalid quality counts as 0. */
function readRange(text: string) {
  const [type = '', ...parameters] = text.split(';').map(part => part.trim().toLowerCase())
  const values = new Map(parameters.map(each => each.split('=', 2).map(part => part.trim()) as [string, string]))
  const q = values.get('q') ?? '1'
  const quality = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 0
  return { type, version: values.get('version')?.replace(/^"(.*)"$/, '$1'), quality }
}
