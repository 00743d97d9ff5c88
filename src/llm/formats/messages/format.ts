import type { JsonBody } from '../../json-body.ts'
import { type Prompts, splitSystem, surround } from '../../prompts.ts'
import { count, member } from '../../usage.ts'
import type { Format } from '../format.ts'
import { decodeRequest } from './decode-request.ts'
import { anthropicErrors } from './errors.ts'

export const messages: Format = {
  name: 'messages',
  errors: anthropicErrors,
  cache: 'excluded',
  // A whole response and `message_delta` have `usage` at the top level; `message_start` has it inside `message`.
  usage(reply) {
    const usage = member(reply, 'usage') ?? member(reply, 'message', 'usage')
    if (typeof usage !== 'object' || usage === null) return undefined
    return {
      input: count(usage, 'input_tokens'),
      output: count(usage, 'output_tokens'),
      cacheRead: count(usage, 'cache_read_input_tokens'),
      cacheCreation: count(usage, 'cache_creation_input_tokens'),
      reasoning: count(usage, 'output_tokens_details', 'thinking_tokens'),
    }
  },
  model(reply) {
    const model = member(reply, 'model') ?? member(reply, 'message', 'model')
    return typeof model === 'string' ? model : undefined
  },
  addPrompts,
}

/** System prompts go to `system` as text blocks without a role. */
function addPrompts(body: JsonBody, prompts: Prompts): void {
  const { system, rest } = splitSystem(prompts)
  if (rest.prepend?.length || rest.append?.length) surround(body, 'messages', rest)
  const block = (text: string) => ({ type: 'text', text })
  const before = (system.prepend ?? []).map(({ content }) => block(content))
  const after = (system.append ?? []).map(({ content }) => block(content))
  if (before.length + after.length === 0) return
  const given = body.get('system')
  const own = typeof given === 'string' ? [block(given)] : Array.isArray(given) ? given : []
  body.set('system', [...before, ...own, ...after])
}

export const anthropicTokenCount: Format = {
  name: 'anthropicTokenCount',
  errors: anthropicErrors,
  cache: 'excluded',
  addPrompts,
  counted: { conversation: decodeRequest, reply: tokens => ({ input_tokens: tokens }) },
  usage: reply => {
    const counted = count(reply, 'input_tokens')
    return counted === undefined ? undefined : { counted }
  },
  model: () => undefined,
}
