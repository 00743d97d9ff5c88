// `config.tracing`, the predecessor of `frontendPolicies.tracing`.

import { type Infer, object, oneOf, opt, parsed, string, urlText } from '../../schema/builder.ts'
import { type HttpAddress, parseHostPort } from '../../schema/scalars.ts'
import { secretHeaderValues } from '../parts/header-changes.ts'
import { changeFields } from './telemetry.ts'
import { sampling, type tracing } from './tracing.ts'

interface Endpoint {
  readonly host: HttpAddress
  /** Undefined if the URL has none. */
  readonly path: string | undefined
}

const endpoint = parsed<string, Endpoint>(
  urlText({ min: 1, max: 1024 }),
  '`host[:port]`, or an `http(s)://` URL',
  parseEndpoint,
  { host: { host: 'localhost', port: 4317, scheme: undefined }, path: undefined },
  {
    type: 'string',
    maxLength: 1024,
    pattern: '^([hH][tT]{2}[pP][sS]?://)?([^:/?#\\[]+|\\[[^\\]]*\\])(:\\d{1,5})?(/[^?#]*)?$',
  },
)

export const deprecatedTracing = object('deprecated tracing', {
  otlpEndpoint: opt(endpoint, 'Where spans go; `OTLP_ENDPOINT` and the variables of OpenTelemetry when unset.'),
  headers: opt(secretHeaderValues, 'Header fields of each export.'),
  otlpProtocol: opt(oneOf(['grpc', 'http']), 'Protocol; grpc when unset.'),
  path: opt(
    string({ min: 1, pattern: /^\//, form: 'a path that starts with `/`' }),
    'Path, over HTTP; that of the URL when unset.',
  ),
  fields: opt(object('span attributes', changeFields), 'Changes to the attributes of spans.'),
  randomSampling: opt(sampling, 'Share of the requests without a trace that start one; none when unset.'),
  clientSampling: opt(sampling, 'Share of the requests with a trace that continue it; all when unset.'),
})

/** Converts it to the current policy. Undefined if neither the configuration nor the environment sets an endpoint. */
export function tracingOfToday(
  old: Infer<typeof deprecatedTracing>,
  env: Readonly<Record<string, string | undefined>>,
): Infer<typeof tracing.schema> | undefined {
  const to = old.otlpEndpoint ?? endpointOf(env)
  if (to === undefined) return undefined
  const { headers, fields, randomSampling, clientSampling } = old
  return {
    host: to.host,
    protocol: old.otlpProtocol ?? 'grpc',
    path: old.path ?? to.path ?? '/v1/traces',
    ...(headers && { policies: { requestHeaderModifier: { set: headers } } }),
    ...(fields?.add && { attributes: fields.add }),
    ...(fields?.remove && { remove: fields.remove }),
    ...(randomSampling !== undefined && { randomSampling }),
    ...(clientSampling !== undefined && { clientSampling }),
  }
}

/** The first one that is set is used. */
export const ENDPOINT_VARIABLES = ['OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT']

function endpointOf(env: Readonly<Record<string, string | undefined>>): Endpoint | undefined {
  const name = ENDPOINT_VARIABLES.find(each => env[each])
  const read = name === undefined ? undefined : parseEndpoint(env[name]!)
  return read && 'value' in read ? read.value : undefined
}

function parseEndpoint(
  text: string,
): { readonly value: Endpoint } | { readonly problem: { readonly message: string } } {
  const [, scheme, authority = '', path] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?([^/?#]*)(\/[^?#]*)?$/i.exec(text) ?? []
  const name = scheme?.toLowerCase()
  if (name !== undefined && name !== 'http' && name !== 'https') {
    return { problem: { message: `the scheme \`${scheme}\` is not http or https` } }
  }
  const port = name === 'https' ? 443 : 80
  const host = parseHostPort(/:\d+$/.test(authority) ? authority : `${authority}:${port}`)
  if (typeof host === 'string') return { problem: { message: host } }
  return { value: { host: { ...host, scheme: name }, path: path === '/' ? undefined : path } }
}
