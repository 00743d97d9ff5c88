import type { ChatReply, ChatUsage, Choice, Part, StopReason } from '../../chat/chat.ts'
import { argumentsObject, dropCitations, dropPart } from '../../chat/content.ts'
import {
  countOf,
  defined,
  isObject,
  type JsonObject,
  labelOf,
  listOf,
  objectOf,
  requireObject,
  textOf,
} from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'
import { CallIds, readPart } from './decode-request.ts'
import { readLogprobs, writeLogprobs } from './logprobs.ts'

const FILTERS = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
])
const FINISH: Readonly<Record<StopReason, string>> = {
  end: 'STOP',
  stopSequence: 'STOP',
  length: 'MAX_TOKENS',
  contextWindow: 'MAX_TOKENS',
  toolCalls: 'STOP',
  filter: 'SAFETY',
  refusal: 'SAFETY',
  pause: 'STOP',
  other: 'OTHER',
}

/** The finish reason does not distinguish tool calls. */
export function stopOf(finish: unknown, called: boolean): { stop: StopReason; ended?: string } {
  if (finish === 'STOP') return { stop: called ? 'toolCalls' : 'end' }
  if (finish === 'MAX_TOKENS') return { stop: 'length' }
  if (FILTERS.has(labelOf(finish))) return { stop: 'filter' }
  return { stop: 'other', ...(typeof finish === 'string' ? { ended: finish } : {}) }
}

/** The model wanted to call a tool, and the call is lost: nothing that a client could take for an answer. */
export function failedCall({ finishReason, finishMessage }: JsonObject): string | undefined {
  if (finishReason !== 'MALFORMED_FUNCTION_CALL') return undefined
  return textOf(finishMessage) ?? 'the model called a function in a malformed way'
}

export function finishReasonOf(stop: StopReason): string {
  return FINISH[stop]
}

export function decodeReply(value: unknown): ChatReply {
  const reply = requireObject(value, '')
  const id = textOf(reply.responseId)
  const candidates = listOf(reply.candidates).map((candidate, i) => readCandidate(objectOf(candidate), i, id))
  const blocked = objectOf(reply.promptFeedback).blockReason !== undefined
  return defined({
    id,
    model: textOf(reply.modelVersion),
    choices:
      candidates.length > 0 ? candidates : [{ parts: [], stop: blocked ? ('filter' as const) : ('end' as const) }],
    usage: readUsage(reply.usageMetadata),
  })
}

function readCandidate(candidate: JsonObject, index: number, id: string | undefined): Choice {
  const calls = new CallIds(`call_${id ?? 'gemini'}${index === 0 ? '' : `_${index}`}`)
  const at = `candidates[${index}]`
  const failed = failedCall(candidate)
  if (failed !== undefined) throw new Untranslatable(`${at}.finishReason`, failed)
  const parts = listOf(objectOf(candidate.content).parts).map((part, i) =>
    readPart(objectOf(part), `${at}.content.parts[${i}]`, calls),
  )
  const called = parts.some(({ kind }) => kind === 'toolCall')
  return defined({
    parts: inheritSignature(parts),
    ...stopOf(candidate.finishReason ?? 'STOP', called),
    logprobs: readLogprobs(candidate.logprobsResult),
  })
}

/** Signatures on reasoning or text would be lost on clients that keep only those of calls. */
function inheritSignature(parts: readonly Part[]): readonly Part[] {
  const first = parts.find(({ kind }) => kind === 'toolCall')
  if (first?.kind !== 'toolCall' || parts.some(part => part.kind === 'toolCall' && part.signature !== undefined))
    return parts
  const signed = parts.find(part => (part.kind === 'reasoning' || part.kind === 'text') && part.signature !== undefined)
  if (signed?.kind !== 'reasoning' && signed?.kind !== 'text') return parts
  const { signature } = signed
  return signature === undefined ? parts : parts.map(part => (part === first ? { ...first, signature } : part))
}

/** Here the output count excludes reasoning. */
export function readUsage(value: unknown): ChatUsage | undefined {
  if (!isObject(value)) return undefined
  const thoughts = countOf(value.thoughtsTokenCount)
  const answer = countOf(value.candidatesTokenCount)
  const input = countOf(value.promptTokenCount)
  return defined({
    input: input === undefined ? undefined : input + (countOf(value.toolUsePromptTokenCount) ?? 0),
    output: thoughts === undefined && answer === undefined ? undefined : (thoughts ?? 0) + (answer ?? 0),
    total: countOf(value.totalTokenCount),
    cacheRead: countOf(value.cachedContentTokenCount),
    reasoning: thoughts,
  })
}

export function encodeReply(reply: ChatReply, losses: Losses): JsonObject {
  return defined({
    candidates: reply.choices.map((choice, index) => ({
      content: { role: 'model', parts: choice.parts.flatMap(part => writePart(part, losses)) },
      finishReason: FINISH[choice.stop],
      index,
      ...(choice.logprobs ? { logprobsResult: writeLogprobs(choice.logprobs) } : {}),
    })),
    usageMetadata: reply.usage && writeUsage(reply.usage),
    modelVersion: reply.model,
    responseId: reply.id,
  })
}

function writePart(part: Part, losses: Losses): JsonObject[] {
  switch (part.kind) {
    case 'text':
      dropCitations(part, losses)
      return [signed({ text: part.text }, part.signature)]
    case 'refusal':
      return [{ text: part.text }]
    case 'reasoning':
      return [signed({ text: part.text, thought: true }, part.signature)]
    case 'toolCall': {
      const args = part.custom ? { input: part.arguments } : (argumentsObject(part.arguments) ?? {})
      return [signed({ functionCall: { id: part.id, name: part.name, args } }, part.signature)]
    }
    default:
      dropPart(part, losses)
      return []
  }
}

function signed(part: JsonObject, signature: string | undefined): JsonObject {
  return signature === undefined ? part : { ...part, thoughtSignature: signature }
}

export function writeUsage(usage: ChatUsage): JsonObject {
  const { input = 0, output = 0, reasoning } = usage
  return defined({
    promptTokenCount: input,
    candidatesTokenCount: output - (reasoning ?? 0),
    thoughtsTokenCount: reasoning,
    cachedContentTokenCount: usage.cacheRead,
    totalTokenCount: usage.total ?? input + output,
  })
}
