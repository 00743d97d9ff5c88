import { member, type Usage } from '../usage.ts'
import { completions } from './completions/format.ts'
import type { ReplyReader } from './format.ts'
import { messages } from './messages/format.ts'
import { responses } from './responses/format.ts'

/** Recognizes any of the known formats, for bodies that pass through unparsed: recognized facts are recorded. */
export const detect: ReplyReader = {
  cache: 'included',
  usage(reply) {
    const usage = member(reply, 'usage') ?? member(reply, 'response', 'usage') ?? member(reply, 'message', 'usage')
    if (member(usage, 'prompt_tokens') !== undefined) return completions.usage({ usage })
    if (member(usage, 'cache_read_input_tokens') === undefined) return responses.usage({ usage })
    return includingCache(messages.usage({ usage }))
  },
  model: reply => messages.model(reply) ?? responses.model(reply),
}

function includingCache(usage: Usage | undefined): Usage | undefined {
  if (usage?.input === undefined) return usage
  return { ...usage, input: usage.input + (usage.cacheRead ?? 0) + (usage.cacheCreation ?? 0) }
}
