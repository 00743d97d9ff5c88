import { openAiErrors } from '../completions/errors.ts'
import { completions } from '../completions/format.ts'
import type { Format } from '../format.ts'

export const embeddings: Format = {
  name: 'embeddings',
  errors: openAiErrors,
  cache: 'included',
  usage: completions.usage,
  model: completions.model,
}
