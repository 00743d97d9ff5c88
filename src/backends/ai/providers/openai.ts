import { defined, lower, type Policies } from '../../../policies/parts/cluster-form.ts'
import { def, type Infer, object, oneOf, opt, req, string } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { asFields, type Fields } from '../../../schema/untyped.ts'
import { clusterModel, defineProvider, type WireFamily } from './provider.ts'

const moderationMode = object('moderation mode', {
  mode: opt(oneOf(['score', 'block']), 'Only score the text, or refuse it.'),
})

const mode = (what: string) =>
  opt(
    object('moderation mode', { mode: req(oneOf(['Block', 'Score']), 'What to do with flagged text.') }),
    `For ${what}.`,
  )
const clusterModeration = object('moderation', {
  model: def(shortString, 'omni-moderation-latest', 'The moderation model.'),
  policy: opt(
    object('moderation policy', { input: mode('prompts'), output: mode('replies') }),
    'What to do with flagged text.',
  ),
})
const inCluster = object('OpenAI provider', {
  model: clusterModel,
  moderation: opt(clusterModeration, 'Moderates prompts and replies.'),
})

const moderation = object('moderation', {
  model: def(string({ min: 1 }), 'omni-moderation-latest', 'Moderation model.'),
  policy: opt(
    object('moderation policy', {
      input: opt(moderationMode, 'For requests.'),
      output: opt(moderationMode, 'For replies.'),
    }),
    'What the provider does with flagged text.',
  ),
})

export const openAI = defineProvider({
  key: 'openAI',
  telemetryName: 'openai',
  doc: 'OpenAI: chat completions, responses, embeddings.',
  settings: object('openAI provider', {
    model: opt(shortString, 'Model to use instead of the one in the request.'),
    moderation: opt(moderation, 'Moderation by the provider.'),
  }),
  cluster: [
    {
      member: 'openai',
      name: 'OpenAI',
      field: opt(inCluster, 'A chat-completions provider.'),
      convert: ({ model, moderation }) => defined({ model, moderation: convertModeration(asFields(moderation)) }),
    },
  ],
  wire: ({ model, moderation }) => ({
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
    ...(moderation && { edit: withModeration(moderation) }),
  }),
})

type Moderation = Infer<typeof moderation>

/** The file's settings override the client's. */
function withModeration({ model, policy }: Moderation): NonNullable<WireFamily['edit']> {
  const { input, output } = policy ?? {}
  const side = (name: string, of: typeof input) => (of?.mode === undefined ? {} : { [name]: { mode: of.mode } })
  const modes = { ...side('input', input), ...side('output', output) }
  const value = Object.keys(modes).length === 0 ? { model } : { model, policy: modes }
  return (body, { format }) => {
    if (format === 'completions' || format === 'responses') body.set('moderation', value)
  }
}

function convertModeration(part: Fields | undefined): Policies | undefined {
  const policy = asFields(part?.policy)
  const side = (value: unknown) => (asFields(value) ? { mode: lower(asFields(value)!.mode) } : undefined)
  return (
    part &&
    defined({
      model: part.model,
      policy: policy && defined({ input: side(policy.input), output: side(policy.output) }),
    })
  )
}
