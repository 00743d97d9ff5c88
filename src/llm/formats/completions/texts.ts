import { isObject, type JsonObject, listOf, numberOf, objectOf } from '../../chat/json.ts'
import type { EventTexts, FormatTexts } from '../../guards/format-texts.ts'
import type { MessageTexts, Scope, TextCollector } from '../../guards/texts.ts'

/** Request members without text for the model. */
const SETTINGS = new Set([
  'model',
  'messages',
  'prediction',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'functions',
  'function_call',
  'response_format',
  'metadata',
  'user',
  'stop',
  'logit_bias',
  'audio',
  'modalities',
  'reasoning_effort',
  'service_tier',
  'store',
  'verbosity',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'web_search_options',
])

export const completionsTexts: FormatTexts = { request: readRequest, reply: readReply, event: readEvent }

function readRequest(body: JsonObject, into: TextCollector): void {
  const { messages } = body
  if (Array.isArray(messages)) {
    for (const [i, message] of messages.entries()) {
      if (isObject(message)) readMessage(message, into)
      else into.message('user').everything('messages', messages, i)
    }
  } else into.message('user').everything('messages', body, 'messages')
  if (isObject(body.prediction)) {
    into.message('user', { told: false }).everything('messages', body.prediction, 'content')
  }
  into.unknownMembers(body, SETTINGS)
}

function scopeOf(role: unknown): Scope {
  if (role === 'system' || role === 'developer') return 'systemPrompt'
  return role === 'tool' || role === 'function' ? 'toolOutput' : 'messages'
}

function readMessage(message: JsonObject, into: TextCollector): void {
  const scope = scopeOf(message.role)
  const texts = into.message(typeof message.role === 'string' ? message.role : 'user')
  readContent(message, scope, texts)
  readCalls(message, texts)
}

/** The text of a message of either side. */
function readContent(message: JsonObject, scope: Scope, texts: MessageTexts): void {
  texts.content(scope, message, 'content', (part, list) => {
    if (part.type === 'text') return texts.text(scope, part, 'text', list)
    if (part.type === 'refusal') return texts.text(scope, part, 'refusal', list)
    return part.type === 'image_url' || part.type === 'input_audio' || part.type === 'file'
  })
  for (const name of ['refusal', 'reasoning_content', 'reasoning', 'thinking_blocks'])
    texts.everything(scope, message, name)
}

function readCalls(message: JsonObject, texts: MessageTexts): void {
  for (const call of listOf(message.tool_calls)) {
    const { function: named, custom } = objectOf(call)
    if (isObject(named)) texts.everything('toolInput', named, 'arguments')
    if (isObject(custom)) texts.everything('toolInput', custom, 'input')
  }
  if (isObject(message.function_call)) texts.everything('toolInput', message.function_call, 'arguments')
}

function readReply(reply: JsonObject, into: TextCollector): void {
  for (const choice of listOf(reply.choices)) {
    const { message } = objectOf(choice)
    if (!isObject(message)) continue
    const texts = into.message('assistant')
    readContent(message, 'messages', texts)
    readCalls(message, texts)
    if (isObject(message.audio)) texts.text('messages', message.audio, 'transcript')
    into.onChange(texts.message, () => {
      if (isObject(choice) && choice.logprobs !== undefined) choice.logprobs = null
    })
  }
}

const SPOKEN = ['content', 'refusal', 'reasoning_content', 'reasoning'] as const

function readEvent(chunk: JsonObject, found: EventTexts): void {
  for (const [position, value] of listOf(chunk.choices).entries()) {
    const choice = objectOf(value)
    const index = numberOf(choice.index) ?? position
    const delta = objectOf(choice.delta)
    const alone = (member: JsonObject): JsonObject => ({
      ...chunk,
      usage: undefined,
      choices: [{ index, delta: member, finish_reason: null }],
    })
    for (const name of SPOKEN) {
      found.piece(`${index}:${name}`, 'messages', delta, name, text => alone({ [name]: text }))
    }
    if (isObject(delta.audio)) {
      found.piece(`${index}:audio`, 'messages', delta.audio, 'transcript', transcript =>
        alone({ audio: { transcript } }),
      )
    }
    for (const [at, call] of listOf(delta.tool_calls).entries()) readCallDelta(objectOf(call), at, index, alone, found)
    const { function_call: call } = delta
    if (isObject(call)) {
      const again = (text: string) => alone({ function_call: { arguments: text } })
      found.piece(`${index}:call`, 'toolInput', call, 'arguments', again)
    }
    if (isObject(choice.logprobs)) found.drop(choice, 'logprobs')
    if (typeof choice.finish_reason === 'string') found.closes(`${index}:`)
    const bare = Object.keys(delta).every(name => name === 'role' || (SPOKEN as readonly string[]).includes(name))
    if (!bare || delta.role !== undefined || typeof choice.finish_reason === 'string') found.stays()
  }
  if (listOf(chunk.choices).length === 0 || isObject(chunk.usage)) found.stays()
}

function readCallDelta(
  call: JsonObject,
  position: number,
  choice: number,
  alone: (member: JsonObject) => JsonObject,
  found: EventTexts,
): void {
  const index = numberOf(call.index) ?? position
  const key = `${choice}:call:${index}`
  for (const [kind, name] of [
    ['function', 'arguments'],
    ['custom', 'input'],
  ] as const) {
    const what = call[kind]
    if (!isObject(what)) continue
    found.piece(key, 'toolInput', what, name, text => alone({ tool_calls: [{ index, [kind]: { [name]: text } }] }))
  }
}
