import type { ChatReply, ChatUsage, Choice, Logprobs, Part, StopReason } from '../../chat/chat.ts'
import { dropCitations, dropPart } from '../../chat/content.ts'
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
import { readLogprobs } from '../completions/reply.ts'
import { readCall, readReasoningItem } from './decode-request.ts'
import { writeCall } from './encode-request.ts'

/** How a finished response ended. */
export function stopOf(response: JsonObject, parts: { calls: boolean; refused: boolean }): StopReason {
  if (response.status === 'incomplete') {
    const reason = textOf(objectOf(response.incomplete_details).reason) ?? ''
    if (reason === 'content_filter') return 'filter'
    return reason.includes('context') ? 'contextWindow' : 'length'
  }
  if (parts.refused) return 'refusal'
  return parts.calls ? 'toolCalls' : 'end'
}

export function decodeReply(value: unknown): ChatReply {
  const reply = requireObject(value, '')
  if (reply.status !== undefined && reply.status !== 'completed' && reply.status !== 'incomplete') {
    const said = textOf(objectOf(reply.error).message)
    throw new Untranslatable('status', said ?? `the provider answered with status \`${labelOf(reply.status)}\``)
  }
  const parts = listOf(reply.output).flatMap((item, i) => readItem(requireObject(item, `output[${i}]`), `output[${i}]`))
  const calls = parts.some(({ kind }) => kind === 'toolCall')
  const refused = parts.some(({ kind }) => kind === 'refusal')
  return defined({
    id: textOf(reply.id),
    model: textOf(reply.model),
    created: numberOf(reply.created_at),
    choices: [{ parts, stop: stopOf(reply, { calls, refused }), ...readLogprobs({ content: tokensIn(reply) }) }],
    usage: readUsage(reply.usage),
    serviceTier: textOf(reply.service_tier),
  })
}

function tokensIn(reply: JsonObject): unknown[] {
  const parts = listOf(reply.output).flatMap(item => listOf(objectOf(item).content))
  return parts.flatMap(part => listOf(objectOf(part).logprobs))
}

function readItem(item: JsonObject, at: string): Part[] {
  switch (item.type) {
    case 'message':
      return listOf(item.content).flatMap((part, i) => readContent(objectOf(part), `${at}.content[${i}]`))
    case 'function_call':
    case 'custom_tool_call':
      return [readCall(item, at)]
    case 'reasoning':
      return [readReasoningItem(item, at)]
    default:
      return [{ kind: 'foreign', type: textOf(item.type) ?? 'unknown', value: item, at }]
  }
}

function readContent(part: JsonObject, at: string): Part[] {
  if (part.type === 'refusal') return [{ kind: 'refusal', text: textOf(part.refusal) ?? '', at }]
  if (part.type !== 'output_text') return [{ kind: 'foreign', type: textOf(part.type) ?? 'unknown', value: part, at }]
  const citations = listOf(part.annotations)
  return [{ kind: 'text', text: textOf(part.text) ?? '', at, ...(citations.length === 0 ? {} : { citations }) }]
}

export function readUsage(value: unknown): ChatUsage | undefined {
  if (!isObject(value)) return undefined
  const input = objectOf(value.input_tokens_details)
  return defined({
    input: countOf(value.input_tokens),
    output: countOf(value.output_tokens),
    total: countOf(value.total_tokens),
    cacheRead: countOf(input.cached_tokens),
    cacheCreation: countOf(input.cache_write_tokens),
    reasoning: countOf(objectOf(value.output_tokens_details).reasoning_tokens),
  })
}

export function encodeReply(reply: ChatReply, losses: Losses): JsonObject {
  const [choice = { parts: [], stop: 'other' as const }] = reply.choices
  const id = reply.id ?? 'resp_0'
  const output = writeOutput(choice, id, losses)
  const about = { id, model: reply.model ?? '', created: reply.created ?? 0 }
  const tier = reply.serviceTier === undefined ? {} : { service_tier: reply.serviceTier }
  return { ...finished(about, choice.stop, output, reply.usage), ...tier }
}

interface Named {
  readonly id: string
  readonly model: string
  readonly created: number
}

/** The response object before any output. */
export function begun({ id, model, created }: Named): JsonObject {
  return {
    id,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    store: false,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage: null,
  }
}

export function finished(
  about: Named,
  stop: StopReason,
  output: readonly JsonObject[],
  usage: ChatUsage | undefined,
): JsonObject {
  return { ...begun(about), ...statusOf(stop), output, usage: usage === undefined ? null : writeUsage(usage) }
}

function statusOf(stop: StopReason): JsonObject {
  if (stop === 'length' || stop === 'contextWindow') {
    return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  }
  if (stop === 'filter') return { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }
  return { status: 'completed' }
}

/** Consecutive texts form one message; calls and reasoning are separate items. */
function writeOutput({ parts, logprobs }: Choice, id: string, losses: Losses): JsonObject[] {
  const said = parts.find(({ kind }) => kind === 'text')
  const items: JsonObject[] = []
  let content: JsonObject[] | undefined
  for (const part of parts) {
    if (part.kind === 'text' || part.kind === 'refusal') {
      if (content === undefined) {
        content = []
        items.push(messageItem(`msg_${id}_${items.length}`, 'completed', content))
      }
      if (part.kind === 'text') dropCitations(part, losses)
      content.push(contentPart(part.kind, part.text, part === said ? logprobs : undefined))
      continue
    }
    content = undefined
    if (part.kind === 'toolCall') items.push({ id: `fc_${id}_${items.length}`, ...writeCall(part) })
    else if (part.kind === 'reasoning') {
      items.push(reasoningItem(`rs_${id}_${items.length}`, part.text, part.redacted ?? part.signature))
    } else dropPart(part, losses)
  }
  return items
}

export function messageItem(id: string, status: string, content: readonly JsonObject[]): JsonObject {
  return { id, type: 'message', status, role: 'assistant', content }
}

export function contentPart(kind: 'text' | 'refusal', text: string, logprobs?: Logprobs): JsonObject {
  if (kind === 'refusal') return { type: 'refusal', refusal: text }
  return { type: 'output_text', text, annotations: [], logprobs: logprobs?.content ?? [] }
}

export function reasoningItem(id: string, text: string, encrypted: string | undefined): JsonObject {
  const summary = text === '' ? [] : [{ type: 'summary_text', text }]
  return defined({ id, type: 'reasoning', summary, encrypted_content: encrypted })
}

function writeUsage(usage: ChatUsage): JsonObject {
  const { input = 0, output = 0 } = usage
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? 0, cache_write_tokens: usage.cacheCreation ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: usage.total ?? input + output,
  }
}
