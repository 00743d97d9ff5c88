import { surround } from '../../prompts.ts'
import { count, member } from '../../usage.ts'
import type { Format } from '../format.ts'
import { responsesErrors } from './errors.ts'

export const responses: Format = {
  name: 'responses',
  errors: responsesErrors,
  cache: 'included',
  // Stream events carry the whole response under `response`.
  usage(reply) {
    const usage = member(reply, 'usage') ?? member(reply, 'response', 'usage')
    if (typeof usage !== 'object' || usage === null) return undefined
    return {
      input: count(usage, 'input_tokens'),
      output: count(usage, 'output_tokens'),
      total: count(usage, 'total_tokens'),
      cacheRead: count(usage, 'input_tokens_details', 'cached_tokens'),
      reasoning: count(usage, 'output_tokens_details', 'reasoning_tokens'),
    }
  },
  model(reply) {
    const model = member(reply, 'model') ?? member(reply, 'response', 'model')
    return typeof model === 'string' ? model : undefined
  },
  addPrompts(body, prompts) {
    const input = body.get('input')
    if (typeof input === 'string') body.set('input', [{ role: 'user', content: input }])
    surround(body, 'input', prompts)
  },
}
