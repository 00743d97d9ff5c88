import { pathFor } from '../../../llm/formats/generate-content/address.ts'
import { object, opt } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { defineProvider, modelOnly } from './provider.ts'

export const gemini = defineProvider({
  key: 'gemini',
  telemetryName: 'gcp.gemini',
  doc: 'Google Gemini.',
  settings: object('gemini provider', {
    model: opt(shortString, 'Model to use instead of the one in the request.'),
  }),
  cluster: [modelOnly('gemini', 'Gemini', 'Gemini provider', 'A multimodal-model provider.')],
  wire: ({ model }) => ({
    host: 'generativelanguage.googleapis.com',
    basePath: '',
    prefixReplacesBase: false,
    formats: {
      generateContent: (base, call) => versioned(base) + pathFor('generate', call),
      geminiCountTokens: (base, call) => versioned(base) + pathFor('count', call),
      // The provider's OpenAI-compatible endpoints.
      completions: base => `${versioned(base)}/openai/chat/completions`,
      embeddings: base => `${versioned(base)}/openai/embeddings`,
    },
    model,
    credential: 'x-goog-api-key',
  }),
})

/** The prefix of the API's paths may name its version or leave that to the gateway. */
function versioned(base: string): string {
  return /\/v\d+[a-z0-9]*$/.test(base) ? base : `${base}/v1beta`
}
