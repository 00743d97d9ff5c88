import { SERVED_FORMATS } from '../../../llm/formats/format.ts'
import { defined, lower, upper } from '../../../policies/parts/cluster-form.ts'
import { list, object, oneOf, opt, req, string } from '../../../schema/builder.ts'
import { modelServerRef } from '../../../schema/resource-references.ts'
import { absolutePath } from '../../../schema/resource-scalars.ts'
import { shortString } from '../../../schema/scalars.ts'
import { asItems, type Fields } from '../../../schema/untyped.ts'
import { clusterModel, defineProvider, pickModel } from './provider.ts'

const providerFormat = object('provider format', {
  type: req(oneOf(SERVED_FORMATS), 'API format that the provider speaks.'),
  path: opt(
    string({ min: 1, max: 1024, pattern: /^\//, form: 'a path that starts with `/`' }),
    'Path of this format, instead of its default below `/v1`.',
  ),
})

/** The specification has no self-hosted servers for the other formats. */
const FORMATS = SERVED_FORMATS.filter(name => name !== 'generateContent' && name !== 'geminiCountTokens').map(upper)
const clusterFormat = object('provider format', {
  type: req(oneOf(FORMATS), 'The API format.'),
  path: opt(absolutePath, 'Its path on the provider.'),
})
const customFields = {
  formats: req(list(clusterFormat, { min: 1, max: 6, unique: ['type'] }), 'The API formats that the provider speaks.'),
  backendRef: opt(modelServerRef, 'The Service or InferencePool that serves the models.'),
}

export const custom = defineProvider({
  key: 'custom',
  telemetryName: 'custom',
  doc: 'Any server that speaks one of the known formats; its address is given with `hostOverride` or `baseUrl`.',
  settings: object('custom provider', {
    model: opt(shortString, 'Model to use instead of the one in the request.'),
    providerOverride: opt(string({ min: 1 }), 'Name in logs, metrics and the cost catalog.'),
    formats: req(list(providerFormat, { min: 1, max: SERVED_FORMATS.length }), 'API formats that the server speaks.', {
      spec: 'Provider settings',
    }),
  }),
  cluster: [
    {
      member: 'custom',
      name: 'Custom',
      field: opt(object('custom provider', { ...customFields, model: clusterModel }), 'Your own model server.'),
      convert: part => ({ ...pickModel(part), formats: convertFormats(part) }),
      settings: {
        field: opt(object('custom provider settings', customFields), 'Settings for Custom.'),
        params: () => ({}),
      },
    },
  ],
  wire: ({ model, formats }) => ({
    host: undefined,
    basePath: '/v1',
    prefixReplacesBase: false,
    formats: Object.fromEntries(formats.map(({ type, path }) => [type, path])),
    model,
    credential: 'bearer',
    takesThoughts: true,
  }),
})

export function convertFormats(part: Fields): Record<string, unknown>[] {
  return asItems(part.formats).map(({ type, path }) => defined({ type: lower(type), path }))
}
