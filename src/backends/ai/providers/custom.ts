import { FORMAT_NAMES } from '../../../llm/formats/format.ts'
import { list, object, oneOf, opt, req, string } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { defineProvider } from './provider.ts'

const providerFormat = object('provider format', {
  type: req(oneOf(FORMAT_NAMES), 'API format that the provider speaks.'),
  path: opt(
    string({ min: 1, max: 1024, pattern: /^\//, form: 'a path that starts with `/`' }),
    "Path of this format, in place of the format's own below `/v1`.",
  ),
})

export const custom = defineProvider({
  key: 'custom',
  telemetryName: 'custom',
  doc: 'Any server that speaks one of the known formats; its address is given with `hostOverride` or `baseUrl`.',
  settings: object('custom provider', {
    model: opt(shortString, 'Model to use instead of the one that the request names.'),
    providerOverride: opt(string({ min: 1 }), 'Name in logs, metrics and the cost catalog.'),
    formats: req(list(providerFormat, { min: 1, max: FORMAT_NAMES.length }), 'API formats that the server speaks.', {
      spec: 'Provider settings',
    }),
  }),
  wire: ({ model, formats }) => ({
    host: undefined,
    basePath: '/v1',
    prefixReplacesBase: false,
    formats: Object.fromEntries(formats.map(({ type, path }) => [type, path])),
    model,
    credential: 'bearer',
  }),
})
