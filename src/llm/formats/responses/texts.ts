import { isObject, type JsonObject, labelOf, listOf, objectOf } from '../../chat/json.ts'
import type { EventTexts, FormatTexts } from '../../guards/format-texts.ts'
import type { MessageTexts, Scope, TextCollector } from '../../guards/texts.ts'

/** Request members without text for the model. */
const SETTINGS = new Set([
  'model',
  'input',
  'instructions',
  'prompt',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'metadata',
  'user',
  'store',
  'include',
  'truncation',
  'previous_response_id',
  'conversation',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'context_management',
])

export const responsesTexts: FormatTexts = { request: readRequest, reply: readReply, event: readEvent }

function readRequest(body: JsonObject, into: TextCollector): void {
  if (body.instructions !== undefined && body.instructions !== null) {
    into.message('system').everything('systemPrompt', body, 'instructions')
  }
  const { input } = body
  if (Array.isArray(input)) {
    for (const [i, item] of input.entries()) {
      if (isObject(item)) readItem(item, input, i, into)
      else into.message('user').everything('messages', input, i)
    }
  } else into.message('user').everything('messages', body, 'input')
  if (isObject(body.prompt)) into.message('user', { told: false }).everything('messages', body.prompt, 'variables')
  into.unknownMembers(body, SETTINGS)
}

function readItem(item: JsonObject, list: unknown[], at: number, into: TextCollector): void {
  const type = labelOf(item.type ?? 'message')
  if (type === 'message') {
    const scope = item.role === 'system' || item.role === 'developer' ? 'systemPrompt' : 'messages'
    const texts = into.message(typeof item.role === 'string' ? item.role : 'user', { joint: '\n' })
    readContent(item, 'content', scope, texts)
    return
  }
  const texts = into.message(type, { told: false })
  if (type.endsWith('_output')) readContent(item, 'output', 'toolOutput', texts)
  else if (type === 'function_call') texts.everything('toolInput', item, 'arguments')
  else if (type === 'custom_tool_call') texts.everything('toolInput', item, 'input')
  else texts.everything(type.endsWith('_call') ? 'toolInput' : 'messages', list, at)
}

function readContent(holder: JsonObject, key: string, scope: Scope, texts: MessageTexts): void {
  texts.content(scope, holder, key, (part, list) => {
    if (part.type === 'input_text' || part.type === 'output_text' || part.type === 'text') {
      return texts.text(scope, part, 'text', list)
    }
    if (part.type === 'refusal') return texts.text(scope, part, 'refusal', list)
    return part.type === 'input_image' || part.type === 'input_audio' || part.type === 'input_file'
  })
}

function readReply(reply: JsonObject, into: TextCollector): void {
  if (!Array.isArray(reply.output)) return
  for (const [i, item] of reply.output.entries()) if (isObject(item)) readOutput(item, reply.output, i, into)
}

function readOutput(item: JsonObject, list: unknown[], at: number, into: TextCollector): void {
  if (item.type !== 'message') {
    readItem(item, list, at, into)
    return
  }
  for (const part of listOf(item.content)) if (isObject(part)) readPart(part, into)
}

function readPart(part: JsonObject, into: TextCollector): void {
  const texts = into.message('assistant')
  if (!texts.text('messages', part, 'text') && !texts.text('messages', part, 'refusal')) {
    texts.everything('messages', { part }, 'part')
  }
  into.onChange(texts.message, () => {
    if (part.annotations !== undefined) part.annotations = []
    if (part.logprobs !== undefined) part.logprobs = []
  })
}

/** Deltas that are not text. */
const NO_TEXT = /audio\.delta$|image/

function readEvent(event: JsonObject, found: EventTexts): void {
  const type = labelOf(event.type)
  const place = `${labelOf(event.output_index ?? event.item_id ?? '')}:`
  const part = `${place}${labelOf(event.content_index ?? event.summary_index ?? '')}:`
  if (type.endsWith('.delta') && typeof event.delta === 'string' && !NO_TEXT.test(type)) {
    const scope = /arguments|tool_call_input|code/.test(type) ? 'toolInput' : 'messages'
    const { logprobs: _, obfuscation: __, ...rest } = event
    found.piece(`${part}${type}`, scope, event, 'delta', delta => ({ ...rest, delta }))
    if (event.logprobs !== undefined) found.drop(event, 'logprobs')
    // Its length is that of the original text.
    if (event.obfuscation !== undefined) found.drop(event, 'obfuscation')
    return
  }
  found.stays()
  if (type.endsWith('.done') || type === 'response.output_text.annotation.added') {
    found.closes(type === 'response.output_item.done' ? place : part)
  } else if (!/created|in_progress|queued|added$/.test(type)) found.closes('')
  for (const [name, scope] of [
    ['text', 'messages'],
    ['refusal', 'messages'],
    ['transcript', 'messages'],
    ['arguments', 'toolInput'],
    ['input', 'toolInput'],
    ['code', 'toolInput'],
  ] as const) {
    if (typeof event[name] === 'string') found.whole('assistant').text(scope, event, name)
  }
  if (event.logprobs !== undefined) found.drop(event, 'logprobs')
  if (isObject(event.part)) readPart(event.part, found.wholes)
  if (isObject(event.item)) readOutput(event.item, [event.item], 0, found.wholes)
  if (isObject(event.response)) readReply(objectOf(event.response), found.wholes)
}
