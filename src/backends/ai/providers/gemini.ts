import { pathFor } from '../../../llm/formats/generate-content/address.ts'
import { object, opt } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { defineProvider, modelOnly } from './provider.ts'

export const gemini = defineProvider({
  key: 'gemini',
  telemetryName: 'gcp.gemini',
  doc: 'Google Gemini.',
  settings: object('gemini provider', {
    model: opt(shortString, 'Model to use instead of the one that the request names.'),
  }),
  cluster: [modelOnly('gemini', 'Gemini', 'Gemini provider', 'A multimodal-model provider.')],
  wire: ({ model }) => ({
    host: 'generativelanguage.googleapis.com',
    basePath: '/v1beta',
    prefixReplacesBase: false,
    formats: {
      generateContent: (base, call) => base + pathFor('generate', call),
      geminiCountTokens: (base, call) => base + pathFor('count', call),
      // The provider's own endpoints for OpenAI's clients.
      completions: base => `${base}/openai/chat/completions`,
      embeddings: base => `${base}/openai/embeddings`,
    },
    model,
    credential: 'x-goog-api-key',
  }),
})
