import type { ChatReply, ChatUsage, Choice, Part, StopReason } from '../../chat/chat.ts'
import { dropCitations, dropPart } from '../../chat/content.ts'
import {
  countOf,
  defined,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  requireObject,
  textOf,
} from '../../chat/json.ts'
import type { Losses } from '../../chat/losses.ts'
import { readBlock } from './decode-request.ts'
import { writeCall } from './encode-request.ts'

const STOPS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  stop_sequence: 'stopSequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'contextWindow',
  tool_use: 'toolCalls',
  refusal: 'refusal',
  pause_turn: 'pause',
}
const FINISH: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  stopSequence: 'stop_sequence',
  length: 'max_tokens',
  contextWindow: 'model_context_window_exceeded',
  toolCalls: 'tool_use',
  filter: 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
  other: 'end_turn',
}

export function stopOf(stop: unknown): { stop: StopReason; ended?: string } {
  const known = typeof stop === 'string' && Object.hasOwn(STOPS, stop) ? STOPS[stop] : undefined
  return known ? { stop: known } : { stop: 'other', ...(typeof stop === 'string' ? { ended: stop } : {}) }
}

export function stopNameOf(stop: StopReason): string {
  return FINISH[stop]
}

export function decodeReply(value: unknown): ChatReply {
  const reply = requireObject(value, '')
  const stopSequence = textOf(reply.stop_sequence)
  const choice: Choice = {
    parts: listOf(reply.content).map((block, i) => readBlock(block, `content[${i}]`)),
    ...stopOf(reply.stop_reason ?? 'end_turn'),
    ...(stopSequence === undefined ? {} : { stopSequence }),
  }
  return defined({
    id: textOf(reply.id),
    model: textOf(reply.model),
    choices: [choice],
    usage: readUsage(reply.usage),
    serviceTier: tierOf(reply.usage, 'standard', 'default'),
  })
}

/** OpenAI's tier `default` is `standard` here; the other names agree. */
function tierOf(usage: unknown, from: string, to: string): string | undefined {
  const tier = isObject(usage) ? textOf(usage.service_tier) : undefined
  return tier === from ? to : tier
}

/** Here the input count excludes cached tokens. */
export function readUsage(value: unknown): ChatUsage | undefined {
  if (!isObject(value)) return undefined
  const cacheRead = countOf(value.cache_read_input_tokens)
  const cacheCreation = countOf(value.cache_creation_input_tokens)
  const input = countOf(value.input_tokens)
  return defined({
    input: input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheCreation ?? 0),
    output: countOf(value.output_tokens),
    cacheRead,
    cacheCreation,
    reasoning: countOf(objectOf(value.output_tokens_details).thinking_tokens),
  })
}

export function encodeReply(reply: ChatReply, losses: Losses): JsonObject {
  const [choice = { parts: [], stop: 'other' as const }] = reply.choices
  return {
    id: reply.id ?? 'msg_0',
    type: 'message',
    role: 'assistant',
    model: reply.model ?? '',
    content: choice.parts.flatMap(part => writePart(part, losses)),
    stop_reason: choice.parts.some(part => part.kind === 'refusal') ? 'refusal' : FINISH[choice.stop],
    stop_sequence: choice.stopSequence ?? null,
    usage: writeUsage(reply.usage ?? {}, tierOf({ service_tier: reply.serviceTier }, 'default', 'standard')),
  }
}

function writePart(part: Part, losses: Losses): JsonObject[] {
  switch (part.kind) {
    case 'text':
      dropCitations(part, losses)
      return [{ type: 'text', text: part.text }]
    case 'refusal':
      return [{ type: 'text', text: part.text }]
    case 'reasoning':
      if (part.redacted !== undefined) return [{ type: 'redacted_thinking', data: part.redacted }]
      return [{ type: 'thinking', thinking: part.text, signature: part.signature ?? '' }]
    case 'toolCall':
      return [writeCall(part)]
    default:
      dropPart(part, losses)
      return []
  }
}

export function writeUsage(usage: ChatUsage, serviceTier?: string): JsonObject {
  const { input = 0, output = 0, cacheRead, cacheCreation, reasoning } = usage
  return defined({
    input_tokens: Math.max(0, input - (cacheRead ?? 0) - (cacheCreation ?? 0)),
    output_tokens: output,
    cache_creation_input_tokens: cacheCreation ?? 0,
    cache_read_input_tokens: cacheRead ?? 0,
    output_tokens_details: reasoning === undefined ? undefined : { thinking_tokens: reasoning },
    service_tier: serviceTier,
  })
}
