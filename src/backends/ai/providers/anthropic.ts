import { object, opt } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { defineProvider, modelOnly } from './provider.ts'

export const anthropic = defineProvider({
  key: 'anthropic',
  telemetryName: 'anthropic',
  doc: 'Anthropic: messages and token counting.',
  settings: object('anthropic provider', {
    model: opt(shortString, 'Model to use instead of the one in the request.'),
  }),
  cluster: [modelOnly('anthropic', 'Anthropic', 'Anthropic provider', 'A messages-API provider.')],
  wire: ({ model }) => ({
    host: 'api.anthropic.com',
    basePath: '/v1',
    prefixReplacesBase: true,
    formats: { messages: undefined, anthropicTokenCount: undefined },
    model,
    credential: 'x-api-key',
    headers: { 'anthropic-version': '2023-06-01' },
    // The API rejects calls that appear to come from a browser.
    dropHeaders: ['origin', 'access-control-request-method', 'access-control-request-headers', 'sec-fetch-*'],
  }),
})
