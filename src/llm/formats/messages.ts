import { count, member } from '../usage.ts'
import type { Format } from './format.ts'

export const messages: Format = {
  name: 'messages',
  errors: 'anthropic',
  cache: 'excluded',
  // A whole reply and `message_delta` have `usage` at the top; `message_start` has it inside `message`.
  usage(reply) {
    const usage = member(reply, 'usage') ?? member(reply, 'message', 'usage')
    if (typeof usage !== 'object' || usage === null) return undefined
    return {
      input: count(usage, 'input_tokens'),
      output: count(usage, 'output_tokens'),
      cacheRead: count(usage, 'cache_read_input_tokens'),
      cacheCreation: count(usage, 'cache_creation_input_tokens'),
    }
  },
  model(reply) {
    const model = member(reply, 'model') ?? member(reply, 'message', 'model')
    return typeof model === 'string' ? model : undefined
  },
}

export const anthropicTokenCount: Format = {
  name: 'anthropicTokenCount',
  errors: 'anthropic',
  cache: 'excluded',
  usage: reply => {
    const input = count(reply, 'input_tokens')
    return input === undefined ? undefined : { input }
  },
  model: () => undefined,
}
