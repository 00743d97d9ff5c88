// OpenTelemetry's environment variables; the configuration takes precedence.
import { isFieldName, toFieldValue } from '../../http/field-value.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Header fields of exports, flat: mostly credentials of a collector. Invalid entries are skipped. */
export function exportFields(env: Env, signal: 'traces' | 'logs'): string[] {
  const own = signal === 'traces' ? env.OTEL_EXPORTER_OTLP_TRACES_HEADERS : env.OTEL_EXPORTER_OTLP_LOGS_HEADERS
  return entriesOf(own || env.OTEL_EXPORTER_OTLP_HEADERS).flatMap(([name, text]) => {
    const value = toFieldValue(text)
    return isFieldName(name) && value !== undefined ? [name.toLowerCase(), value] : []
  })
}

/** Resource attributes. */
export function resourceAttributes(env: Env): ReadonlyMap<string, string> {
  const out = new Map(entriesOf(env.OTEL_RESOURCE_ATTRIBUTES))
  if (env.OTEL_SERVICE_NAME) out.set('service.name', env.OTEL_SERVICE_NAME)
  return out
}

/** `a=1,b=2`, percent-encoded (W3C Baggage without properties). */
function entriesOf(text = ''): [string, string][] {
  return text.split(',').flatMap((entry): [string, string][] => {
    const at = entry.indexOf('=')
    const name = decoded(entry.slice(0, Math.max(0, at)))
    return name === '' ? [] : [[name, decoded(entry.slice(at + 1))]]
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return text.trim()
  }
}
