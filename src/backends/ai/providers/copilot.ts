import { copilotSigner } from '../../../auth/cloud/copilot-signer.ts'
import { object, opt } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import { defineProvider, type WireFamily, type WirePath } from './provider.ts'

export const copilot = defineProvider({
  key: 'copilot',
  telemetryName: 'copilot',
  doc: 'GitHub Copilot.',
  settings: object('copilot provider', {
    model: opt(shortString, 'Model to use instead of the one in the request.'),
  }),
  wire: ({ model }) => ({
    host: 'api.githubcopilot.com',
    basePath: '',
    prefixReplacesBase: true,
    ...OTHERS,
    family: familyOf,
    model,
    credential: 'bearer',
    maxCompletionTokens: /^gpt-/,
    sign: copilotSigner,
  }),
})

const messages: WirePath = base => `${base}/v1/messages`
const OTHERS: WireFamily = { formats: { completions: undefined, embeddings: undefined } }
const CLAUDE: WireFamily = { formats: { completions: undefined, messages } }
const BOTH: WireFamily = { formats: { completions: undefined, responses: undefined, embeddings: undefined } }
const RESPONSES_ONLY: WireFamily = { formats: { responses: undefined, embeddings: undefined } }

/** The service offers each model only on some of its endpoints. */
function familyOf(model: string): WireFamily {
  if (/^claude-/.test(model)) return CLAUDE
  if (/^gpt-5-mini/.test(model)) return BOTH
  return /^gpt-[5-9](?!\d)/.test(model) ? RESPONSES_ONLY : OTHERS
}
