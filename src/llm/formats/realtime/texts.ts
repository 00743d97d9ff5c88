// The texts of OpenAI's Realtime API: https://platform.openai.com/docs/api-reference/realtime. Audio is not inspected.
import { isObject, type JsonObject, labelOf, listOf } from '../../chat/json.ts'
import type { EventTexts, FormatTexts } from '../../guards/format-texts.ts'
import type { MessageTexts, TextCollector } from '../../guards/texts.ts'

/** `request` reads client events, `event` those of the provider. */
export const realtimeTexts: FormatTexts = { request: readClientEvent, reply: () => {}, event: readServerEvent }

/** Client event members without text for the model. */
const SETTINGS = new Set(['type', 'event_id', 'previous_item_id', 'item_id', 'response_id', 'audio', 'item', 'session'])

function readClientEvent(event: JsonObject, into: TextCollector): void {
  if (isObject(event.item)) readItem(event.item, into)
  for (const settings of [event.session, event.response]) {
    if (!isObject(settings)) continue
    if (settings.instructions !== undefined) into.message('system').everything('systemPrompt', settings, 'instructions')
    for (const item of listOf(settings.input)) if (isObject(item)) readItem(item, into)
  }
  into.unknownMembers(event, event.type === 'response.create' ? new Set([...SETTINGS, 'response']) : SETTINGS)
}

function readItem(item: JsonObject, into: TextCollector): void {
  const type = labelOf(item.type ?? 'message')
  if (type === 'message') {
    const scope = item.role === 'system' ? 'systemPrompt' : 'messages'
    const texts = into.message(typeof item.role === 'string' ? item.role : 'user', { joint: '\n' })
    for (const part of listOf(item.content)) if (isObject(part)) readPart(part, scope, texts)
    return
  }
  const texts = into.message(type, { told: false })
  if (type === 'function_call_output') texts.everything('toolOutput', item, 'output')
  else if (type === 'function_call') texts.everything('toolInput', item, 'arguments')
  else texts.everything('messages', { item }, 'item')
}

function readPart(part: JsonObject, scope: 'messages' | 'systemPrompt', texts: MessageTexts): void {
  for (const name of Object.keys(part))
    if (name !== 'audio' && name !== 'image_url') texts.everything(scope, part, name)
}

function readServerEvent(event: JsonObject, found: EventTexts): void {
  const type = labelOf(event.type)
  const place = `${labelOf(event.item_id ?? '')}:`
  const part = `${place}${labelOf(event.content_index ?? '')}:`
  if (type.endsWith('.delta') && typeof event.delta === 'string') {
    if (type.endsWith('audio.delta')) {
      found.stays()
      return
    }
    const { logprobs: _, obfuscation: __, ...rest } = event
    const scope = type.includes('arguments') ? 'toolInput' : 'messages'
    found.piece(`${part}${type.slice(0, -6)}`, scope, event, 'delta', delta => ({ ...rest, delta }))
    for (const name of ['logprobs', 'obfuscation']) if (event[name] !== undefined) found.drop(event, name)
    return
  }
  found.stays()
  if (type.endsWith('.done') || type.endsWith('.completed') || type.endsWith('.failed')) {
    // The texts of an item may end in any order.
    if (isObject(event.item)) found.closes(`${labelOf(event.item.id ?? '')}:`)
    else if (isObject(event.response)) {
      for (const item of listOf(event.response.output)) if (isObject(item)) found.closes(`${labelOf(item.id ?? '')}:`)
    } else found.closes(event.part === undefined ? `${part}${type.slice(0, type.lastIndexOf('.'))}` : part)
  }
  if (event.logprobs !== undefined) found.drop(event, 'logprobs')
  const role = type.includes('input_audio_transcription') ? 'user' : 'assistant'
  for (const name of ['text', 'transcript']) {
    if (typeof event[name] === 'string') found.whole(role).text('messages', event, name)
  }
  if (typeof event.arguments === 'string') found.whole(role).text('toolInput', event, 'arguments')
  if (isObject(event.part)) readPart(event.part, 'messages', found.whole('assistant'))
  if (isObject(event.item)) readItem(event.item, found.wholes)
  if (isObject(event.response)) {
    for (const item of listOf(event.response.output)) if (isObject(item)) readItem(item, found.wholes)
  }
}
