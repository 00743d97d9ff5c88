import { openAiErrors } from '../completions/errors.ts'
import { completions } from '../completions/format.ts'
import type { Format } from '../format.ts'

export const rerank: Format = {
  name: 'rerank',
  errors: openAiErrors,
  cache: 'included',
  usage: completions.usage,
  model: completions.model,
}
