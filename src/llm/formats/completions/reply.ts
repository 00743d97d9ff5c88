import type { ChatReply, ChatUsage, Choice, Logprobs, Part, StopReason, TokenLogprob } from '../../chat/chat.ts'
import { dropCitations, dropPart, textPart } from '../../chat/content.ts'
import {
  countOf,
  defined,
  isObject,
  type JsonObject,
  labelOf,
  listOf,
  numberOf,
  objectOf,
  requireObject,
  textOf,
} from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'
import { writeCall } from './encode-request.ts'
import { googleSignature } from './members.ts'
import { readReasoning, writeReasoning } from './reasoning.ts'

const STOPS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  tool_calls: 'toolCalls',
  function_call: 'toolCalls',
  content_filter: 'filter',
}
const FINISH: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  stopSequence: 'stop',
  length: 'length',
  contextWindow: 'length',
  toolCalls: 'tool_calls',
  filter: 'content_filter',
  refusal: 'content_filter',
  pause: 'stop',
  other: 'stop',
}

export function stopReasonOf(finish: unknown): StopReason {
  return (typeof finish === 'string' && Object.hasOwn(STOPS, finish) && STOPS[finish]) || 'other'
}

export function finishReasonOf(stop: StopReason): string {
  return FINISH[stop]
}

export function decodeReply(value: unknown): ChatReply {
  const reply = requireObject(value, '')
  const choices = listOf(reply.choices).map((choice, i) => readChoice(choice, `choices[${i}]`))
  if (choices.length === 0) throw new Untranslatable('choices', 'the provider answered without a choice')
  return defined({
    id: textOf(reply.id),
    model: textOf(reply.model),
    created: numberOf(reply.created),
    choices,
    usage: readUsage(reply.usage),
    serviceTier: textOf(reply.service_tier),
  })
}

function readChoice(value: unknown, at: string): Choice {
  const choice = requireObject(value, at)
  const message = requireObject(choice.message, `${at}.message`)
  const parts: Part[] = [...readReasoning(message, `${at}.message`)]
  const { text, thoughts, others } = readPieces(message.content)
  if (thoughts !== '') parts.push({ kind: 'reasoning', text: thoughts, at: `${at}.message.content` })
  if (text !== '') parts.push(withCitations(text, message, `${at}.message.content`))
  const refusal = textOf(message.refusal)
  if (refusal) parts.push({ kind: 'refusal', text: refusal, at: `${at}.message.refusal` })
  for (const [i, call] of listOf(message.tool_calls).entries())
    parts.push(readCall(call, `${at}.message.tool_calls[${i}]`))
  if (isObject(message.function_call)) {
    const name = textOf(message.function_call.name) ?? ''
    const args = textOf(message.function_call.arguments) ?? ''
    parts.push({ kind: 'toolCall', id: name, name, arguments: args, at: `${at}.message.function_call` })
  }
  if (isObject(message.audio)) {
    parts.push({ kind: 'foreign', type: 'audio', value: message.audio, at: `${at}.message.audio` })
  }
  for (const type of others) parts.push({ kind: 'foreign', type, value: undefined, at: `${at}.message.content` })
  const stop = stopReasonOf(choice.finish_reason)
  return {
    parts,
    stop: refusal && stop === 'end' ? 'refusal' : stop,
    ...endedOf(stop, choice.finish_reason),
    ...readLogprobs(choice.logprobs),
  }
}

/** Some servers (Mistral) send content as a list that includes reasoning. */
export function readPieces(content: unknown): { text: string; thoughts: string; others: string[] } {
  const others: string[] = []
  if (typeof content === 'string') return { text: content, thoughts: '', others }
  let text = ''
  let thoughts = ''
  for (const piece of listOf(content)) {
    if (!isObject(piece)) continue
    if (piece.type === 'thinking') thoughts += readPieces(piece.thinking).text
    else if (typeof piece.text === 'string') text += piece.text
    else others.push(labelOf(piece.type))
  }
  return { text, thoughts, others }
}

/** Some servers have words of their own, which mean nothing elsewhere. */
export function endedOf(stop: StopReason, finish: unknown): { ended?: string } {
  return stop === 'other' && typeof finish === 'string' ? { ended: finish } : {}
}

/** Those of the content; a refusal has its own. */
export function readLogprobs(value: unknown): { logprobs?: Logprobs } {
  const content = isObject(value) ? listOf(value.content ?? value.refusal).filter(isToken) : []
  return content.length === 0 ? {} : { logprobs: { content } }
}

function isToken(value: unknown): value is TokenLogprob {
  return isObject(value) && typeof value.token === 'string' && typeof value.logprob === 'number'
}

function withCitations(text: string, message: JsonObject, at: string): Part {
  const citations = listOf(message.annotations)
  return citations.length === 0 ? textPart(text, at) : { kind: 'text', text, at, citations }
}

function readCall(value: unknown, at: string): Part {
  const call = requireObject(value, at)
  const custom = call.type === 'custom'
  const what = requireObject(custom ? call.custom : call.function, at)
  return defined({
    kind: 'toolCall' as const,
    id: textOf(call.id) ?? '',
    name: textOf(what.name) ?? '',
    arguments: textOf(custom ? what.input : what.arguments) ?? '',
    custom: custom || undefined,
    ...googleSignature(call),
    at,
  })
}

export function readUsage(value: unknown): ChatUsage | undefined {
  if (!isObject(value)) return undefined
  const input = objectOf(value.prompt_tokens_details)
  const output = objectOf(value.completion_tokens_details)
  const total = countOf(value.total_tokens)
  const prompt = countOf(value.prompt_tokens)
  const completion = countOf(value.completion_tokens)
  return defined({
    input: prompt,
    // Gemini's compatible endpoint may report 0 output tokens although there is output.
    output:
      completion === 0 && total !== undefined && prompt !== undefined && total > prompt ? total - prompt : completion,
    total,
    cacheRead: countOf(input.cached_tokens) ?? countOf(value.cache_read_input_tokens),
    cacheCreation: countOf(input.cache_write_tokens) ?? countOf(value.cache_creation_input_tokens),
    reasoning: countOf(output.reasoning_tokens),
    inputAudio: countOf(input.audio_tokens),
    outputAudio: countOf(output.audio_tokens),
  })
}

export function encodeReply(reply: ChatReply, losses: Losses): JsonObject {
  return defined({
    id: reply.id ?? 'chatcmpl-0',
    object: 'chat.completion',
    created: reply.created ?? 0,
    model: reply.model ?? '',
    choices: reply.choices.map((choice, index) => writeChoice(choice, index, losses)),
    usage: reply.usage && writeUsage(reply.usage),
    service_tier: reply.serviceTier,
  })
}

function writeChoice(choice: Choice, index: number, losses: Losses): JsonObject {
  let text: string | undefined
  let refusal: string | undefined
  const calls: JsonObject[] = []
  for (const part of choice.parts) {
    if (part.kind === 'text') {
      text = (text ?? '') + part.text
      dropCitations(part, losses)
    } else if (part.kind === 'refusal') refusal = (refusal ?? '') + part.text
    else if (part.kind === 'toolCall') calls.push(writeCall(part))
    else if (part.kind !== 'reasoning') dropPart(part, losses)
  }
  const message = defined({
    role: 'assistant',
    content: text ?? null,
    refusal: refusal ?? null,
    ...writeReasoning(choice.parts),
    tool_calls: calls.length === 0 ? undefined : calls,
  })
  return { index, message, logprobs: writeLogprobs(choice.logprobs), finish_reason: FINISH[choice.stop] }
}

/** The API's member has separate lists for content and refusal. */
export function writeLogprobs(logprobs: Logprobs | undefined): JsonObject | null {
  return logprobs === undefined ? null : { content: logprobs.content, refusal: null }
}

export function writeUsage(usage: ChatUsage): JsonObject {
  const { input = 0, output = 0 } = usage
  const prompt = defined({
    cached_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheCreation,
    audio_tokens: usage.inputAudio,
  })
  const completion = defined({ reasoning_tokens: usage.reasoning, audio_tokens: usage.outputAudio })
  return defined({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: usage.total ?? input + output,
    prompt_tokens_details: Object.keys(prompt).length === 0 ? undefined : prompt,
    completion_tokens_details: Object.keys(completion).length === 0 ? undefined : completion,
  })
}
