import { completions } from './completions.ts'
import type { Format } from './format.ts'

export const embeddings: Format = {
  name: 'embeddings',
  errors: 'openai',
  cache: 'included',
  usage: completions.usage,
  model: completions.model,
}

export const rerank: Format = {
  name: 'rerank',
  errors: 'openai',
  cache: 'included',
  usage: completions.usage,
  model: completions.model,
}
