import { object, oneOf, opt, string } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { defineProvider } from './provider.ts'

const moderationMode = object('moderation mode', {
  mode: opt(oneOf(['score', 'block']), 'Only score the text, or refuse it.'),
})

export const openAI = defineProvider({
  key: 'openAI',
  telemetryName: 'openai',
  doc: 'OpenAI: chat completions, responses, embeddings.',
  settings: object('openAI provider', {
    model: opt(shortString, 'Model to use instead of the one that the request names.'),
    moderation: opt(
      object('moderation', {
        model: opt(string({ min: 1 }), 'Moderation model; `omni-moderation-latest` when unset.'),
        policy: opt(
          object('moderation policy', {
            input: opt(moderationMode, 'For requests.'),
            output: opt(moderationMode, 'For replies.'),
          }),
          'What the provider does with flagged text.',
        ),
      }),
      'Moderation by the provider.',
      { unserved: 'Moderation settings are not added to requests yet.' },
    ),
  }),
  wire: ({ model }) => ({
    host: 'api.openai.com',
    basePath: '/v1',
    prefixReplacesBase: true,
    formats: {
      completions: undefined,
      responses: undefined,
      embeddings: undefined,
      rerank: undefined,
      realtime: undefined,
    },
    model,
    credential: 'bearer',
    maxCompletionTokens: /^gpt-/,
  }),
})
