import type { ChatReply, ChatUsage, Part, StopReason } from '../../chat/chat.ts'
import { argumentsObject, dropCitations, dropPart } from '../../chat/content.ts'
import { countOf, defined, isObject, type JsonObject, listOf, objectOf, requireObject } from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'
import { readBlock } from './decode-request.ts'

const STOPS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  stop_sequence: 'stopSequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'contextWindow',
  tool_use: 'toolCalls',
  content_filtered: 'filter',
  guardrail_intervened: 'filter',
}
const FINISH: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  stopSequence: 'stop_sequence',
  length: 'max_tokens',
  contextWindow: 'model_context_window_exceeded',
  toolCalls: 'tool_use',
  filter: 'content_filtered',
  refusal: 'content_filtered',
  pause: 'end_turn',
  other: 'end_turn',
}

export function stopOf(stop: unknown): { stop: StopReason; ended?: string } {
  const known = typeof stop === 'string' && Object.hasOwn(STOPS, stop) ? STOPS[stop] : undefined
  return known ? { stop: known } : { stop: 'other', ...(typeof stop === 'string' ? { ended: stop } : {}) }
}

/** The model wanted to call a tool, and the call is lost: nothing that a client could take for an answer. */
export function failedCall(stop: unknown): string | undefined {
  return stop === 'malformed_tool_use' ? 'the model called a tool in a malformed way' : undefined
}

export function stopNameOf(stop: StopReason): string {
  return FINISH[stop]
}

export function decodeReply(value: unknown): ChatReply {
  const reply = requireObject(value, '')
  const message = requireObject(objectOf(reply.output).message, 'output.message')
  const parts = listOf(message.content).flatMap((block, i) =>
    readBlock(objectOf(block), `output.message.content[${i}]`),
  )
  const failed = failedCall(reply.stopReason)
  if (failed !== undefined) throw new Untranslatable('stopReason', failed)
  return defined({ choices: [{ parts, ...stopOf(reply.stopReason) }], usage: readUsage(reply.usage) })
}

/** Here the input count excludes cached tokens. */
export function readUsage(value: unknown): ChatUsage | undefined {
  if (!isObject(value)) return undefined
  const cacheRead = countOf(value.cacheReadInputTokens) ?? countOf(value.cacheReadInputTokenCount)
  const cacheCreation = countOf(value.cacheWriteInputTokens) ?? countOf(value.cacheWriteInputTokenCount)
  const input = countOf(value.inputTokens)
  return defined({
    input: input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheCreation ?? 0),
    output: countOf(value.outputTokens),
    cacheRead,
    cacheCreation,
  })
}

export function encodeReply(reply: ChatReply, losses: Losses): JsonObject {
  const [choice = { parts: [], stop: 'other' as const }] = reply.choices
  return {
    output: { message: { role: 'assistant', content: choice.parts.flatMap(part => writePart(part, losses)) } },
    stopReason: FINISH[choice.stop],
    usage: writeUsage(reply.usage ?? {}),
    metrics: { latencyMs: 0 },
  }
}

function writePart(part: Part, losses: Losses): JsonObject[] {
  switch (part.kind) {
    case 'text':
      dropCitations(part, losses)
      return [{ text: part.text }]
    case 'refusal':
      return [{ text: part.text }]
    case 'toolCall': {
      const input = part.custom ? { input: part.arguments } : (argumentsObject(part.arguments) ?? {})
      return [{ toolUse: { toolUseId: part.id, name: part.name, input } }]
    }
    case 'reasoning': {
      if (part.redacted !== undefined) return [{ reasoningContent: { redactedContent: part.redacted } }]
      return [{ reasoningContent: { reasoningText: defined({ text: part.text, signature: part.signature }) } }]
    }
    default:
      dropPart(part, losses)
      return []
  }
}

export function writeUsage(usage: ChatUsage): JsonObject {
  const { input = 0, output = 0, cacheRead, cacheCreation } = usage
  return defined({
    inputTokens: Math.max(0, input - (cacheRead ?? 0) - (cacheCreation ?? 0)),
    outputTokens: output,
    totalTokens: usage.total ?? input + output,
    cacheReadInputTokens: cacheRead,
    cacheWriteInputTokens: cacheCreation,
  })
}
