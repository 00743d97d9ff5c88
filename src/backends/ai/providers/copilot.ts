import { object, opt } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { defineProvider } from './provider.ts'

export const copilot = defineProvider({
  key: 'copilot',
  telemetryName: 'copilot',
  doc: 'GitHub Copilot.',
  settings: object('copilot provider', {
    model: opt(shortString, 'Model to use instead of the one that the request names.'),
  }),
  unserved: 'Copilot tokens are not obtained yet.',
  wire: ({ model }) => ({
    host: 'api.githubcopilot.com',
    basePath: '',
    prefixReplacesBase: true,
    formats: {
      completions: undefined,
      responses: undefined,
      embeddings: undefined,
      messages: '/v1/messages',
    },
    model,
    credential: 'bearer',
    maxCompletionTokens: /^gpt-/,
  }),
})
