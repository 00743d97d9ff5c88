import { surround } from '../../prompts.ts'
import { count, member } from '../../usage.ts'
import type { Format } from '../format.ts'
import { openAiErrors } from './errors.ts'

export const completions: Format = {
  name: 'completions',
  errors: openAiErrors,
  cache: 'included',
  usage(reply) {
    const usage = member(reply, 'usage')
    if (typeof usage !== 'object' || usage === null) return undefined
    return {
      input: count(usage, 'prompt_tokens'),
      output: count(usage, 'completion_tokens'),
      total: count(usage, 'total_tokens'),
      cacheRead: count(usage, 'prompt_tokens_details', 'cached_tokens'),
      reasoning: count(usage, 'completion_tokens_details', 'reasoning_tokens'),
      inputAudio: count(usage, 'prompt_tokens_details', 'audio_tokens'),
      outputAudio: count(usage, 'completion_tokens_details', 'audio_tokens'),
    }
  },
  model(reply) {
    const model = member(reply, 'model')
    return typeof model === 'string' ? model : undefined
  },
  askForUsage(body) {
    if (body.get('stream') !== true || body.has('stream_options')) return false
    body.set('stream_options', { include_usage: true })
    return true
  },
  isUsageEvent(event) {
    const choices = member(event, 'choices')
    return Array.isArray(choices) && choices.length === 0 && typeof member(event, 'usage') === 'object'
  },
  addPrompts: (body, prompts) => surround(body, 'messages', prompts),
}
