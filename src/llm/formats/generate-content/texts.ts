import { isObject, type JsonObject, listOf, numberOf, objectOf } from '../../chat/json.ts'
import type { EventTexts, FormatTexts } from '../../guards/format-texts.ts'
import type { MessageTexts, Scope, TextCollector } from '../../guards/texts.ts'

/** Request members without text for the model; Google accepts both spellings. */
const SETTINGS = new Set([
  'model',
  'stream',
  'contents',
  'systemInstruction',
  'system_instruction',
  'tools',
  'toolConfig',
  'tool_config',
  'generationConfig',
  'generation_config',
  'safetySettings',
  'safety_settings',
  'cachedContent',
  'cached_content',
  'labels',
  'serviceTier',
  'service_tier',
  'store',
])

export const generateContentTexts: FormatTexts = { request: readRequest, reply: readReply, event: readEvent }

function readRequest(body: JsonObject, into: TextCollector): void {
  for (const name of ['systemInstruction', 'system_instruction']) {
    if (body[name] === undefined) continue
    const texts = into.message('system', { joint: '\n' })
    const system = body[name]
    if (isObject(system)) readParts(system, 'systemPrompt', texts)
    else texts.everything('systemPrompt', body, name)
  }
  const { contents } = body
  if (Array.isArray(contents)) {
    for (const [i, content] of contents.entries()) {
      if (!isObject(content)) {
        into.message('user').everything('messages', contents, i)
        continue
      }
      const role = content.role === 'model' ? 'assistant' : typeof content.role === 'string' ? content.role : 'user'
      readParts(content, 'messages', into.message(role))
    }
  } else into.message('user').everything('messages', body, 'contents')
  into.unknownMembers(body, SETTINGS)
}

function readParts(content: JsonObject, scope: Scope, texts: MessageTexts): void {
  texts.content(scope, content, 'parts', (part, list) => readPart(part, list, scope, texts))
}

const NO_TEXT = ['inlineData', 'inline_data', 'fileData', 'file_data'] as const

/** False for a part of an unknown kind. */
function readPart(part: JsonObject, list: unknown[], scope: Scope, texts: MessageTexts): boolean {
  let known = texts.text(scope, part, 'text', list)
  for (const [name, inner, at] of [
    ['functionCall', 'args', 'toolInput'],
    ['function_call', 'args', 'toolInput'],
    ['functionResponse', 'response', 'toolOutput'],
    ['function_response', 'response', 'toolOutput'],
    ['executableCode', 'code', 'messages'],
    ['executable_code', 'code', 'messages'],
    ['codeExecutionResult', 'output', 'toolOutput'],
    ['code_execution_result', 'output', 'toolOutput'],
  ] as const) {
    const value = part[name]
    if (!isObject(value)) continue
    texts.everything(at, value, inner)
    known = true
  }
  return known || NO_TEXT.some(name => isObject(part[name]))
}

function readReply(reply: JsonObject, into: TextCollector): void {
  for (const candidate of listOf(reply.candidates)) {
    const { content } = objectOf(candidate)
    if (!isObject(content)) continue
    const texts = into.message('assistant', { joint: '' })
    readParts(content, 'messages', texts)
    into.onChange(texts.message, () => {
      if (isObject(candidate)) delete candidate.logprobsResult
    })
  }
}

function readEvent(event: JsonObject, found: EventTexts): void {
  const about = { modelVersion: event.modelVersion, responseId: event.responseId }
  for (const [position, value] of listOf(event.candidates).entries()) {
    const candidate = objectOf(value)
    const index = numberOf(candidate.index) ?? position
    for (const given of listOf(objectOf(candidate.content).parts)) {
      const part = objectOf(given)
      const thought = part.thought === true
      const key = `${index}:${thought ? 'thought' : 'text'}`
      if (typeof part.text === 'string') {
        found.piece(key, 'messages', part, 'text', text => ({
          candidates: [{ content: { role: 'model', parts: [thought ? { text, thought } : { text }] }, index }],
          ...about,
        }))
        if (Object.keys(part).some(name => name !== 'text' && name !== 'thought')) found.stays()
        continue
      }
      found.closes(`${index}:`)
      found.stays()
      const texts = found.whole('assistant')
      if (!readPart(part, [part], 'messages', texts)) texts.everything('messages', { part }, 'part')
    }
    if (candidate.logprobsResult !== undefined) found.drop(candidate, 'logprobsResult')
    if (candidate.finishReason !== undefined) {
      found.closes(`${index}:`)
      found.stays()
    }
  }
  if (listOf(event.candidates).length === 0 || event.promptFeedback !== undefined) found.stays()
}
