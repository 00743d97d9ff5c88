import type { ChatReply, ChatUsage, Choice, Part, StopReason } from '../../chat/chat.ts'
import { argumentsObject } from '../../chat/content.ts'
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
export function stopReasonOf(finish: unknown, called: boolean): StopReason {
  if (finish === 'STOP') return called ? 'toolCalls' : 'end'
  if (finish === 'MAX_TOKENS') return 'length'
  return FILTERS.has(String(finish)) ? 'filter' : 'other'
}

export function finishReasonOf(stop: StopReason): string {
  return FINISH[stop]
}

export function decodeReply(value: unknown): ChatReply {
  const reply = requireObject(value, '')
  const id = textOf(reply.responseId)
  const candidates = listOf(reply.candidates).map((candidate, i) => readCandidate(objectOf(candidate), i, id))
  const blocked = objectOf(reply.promptFeedback).blockReason !== undefined
  const extras = listOf(reply.candidates).flatMap((candidate, i) => extrasIn(objectOf(candidate), i))
  return defined({
    id,
    model: textOf(reply.modelVersion),
    extras: extras.length === 0 ? undefined : extras,
    choices:
      candidates.length > 0 ? candidates : [{ parts: [], stop: blocked ? ('filter' as const) : ('end' as const) }],
    usage: readUsage(reply.usageMetadata),
  })
}

/** Members of a candidate about its sources. */
const ABOUT = ['citationMetadata', 'groundingMetadata', 'urlContextMetadata']

export function extrasIn(candidate: JsonObject, index: number): string[] {
  return ABOUT.filter(name => isObject(candidate[name])).map(name => `candidates[${index}].${name}`)
}

function readCandidate(candidate: JsonObject, index: number, id: string | undefined): Choice {
  const calls = new CallIds(`call_${id ?? 'gemini'}${index === 0 ? '' : `_${index}`}`)
  const at = `candidates[${index}]`
  const parts = listOf(objectOf(candidate.content).parts).map((part, i) =>
    readPart(objectOf(part), `${at}.content.parts[${i}]`, calls),
  )
  const called = parts.some(({ kind }) => kind === 'toolCall')
  return defined({
    parts: inheritSignature(parts),
    stop: stopReasonOf(candidate.finishReason ?? 'STOP', called),
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
      return [signed({ text: part.text }, part.signature)]
    case 'refusal':
      return [{ text: part.text }]
    case 'reasoning':
      if (part.redacted !== undefined) {
        losses.add(part.at, 'encrypted reasoning has no counterpart in generateContent')
        return []
      }
      return [signed({ text: part.text, thought: true }, part.signature)]
    case 'toolCall': {
      const args = part.custom ? { input: part.arguments } : (argumentsObject(part.arguments) ?? {})
      return [signed({ functionCall: { id: part.id, name: part.name, args } }, part.signature)]
    }
    default:
      losses.add(
        part.at,
        `\`${part.kind === 'foreign' ? part.type : part.kind}\` has no counterpart in generateContent`,
      )
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
