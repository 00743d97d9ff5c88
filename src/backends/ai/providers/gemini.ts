import { object, opt } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { defineProvider } from './provider.ts'

export const gemini = defineProvider({
  key: 'gemini',
  telemetryName: 'gcp.gemini',
  doc: 'Google Gemini.',
  settings: object('gemini provider', {
    model: opt(shortString, 'Model to use instead of the one that the request names.'),
  }),
  // The provider's own endpoints for OpenAI clients; its native format is not spoken yet.
  wire: ({ model }) => ({
    host: 'generativelanguage.googleapis.com',
    basePath: '/v1beta/openai',
    prefixReplacesBase: false,
    formats: { completions: undefined, embeddings: undefined },
    model,
    credential: 'bearer',
  }),
})
