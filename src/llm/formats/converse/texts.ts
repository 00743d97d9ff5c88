import { isObject, type JsonObject, labelOf, listOf, objectOf } from '../../chat/json.ts'
import type { EventTexts, FormatTexts } from '../../guards/format-texts.ts'
import type { MessageTexts, Scope, TextCollector } from '../../guards/texts.ts'
import { readConversation } from '../messages/texts.ts'

/** Request members without text for the model. */
const SETTINGS = new Set([
  'model',
  'modelId',
  'stream',
  'messages',
  'system',
  'inferenceConfig',
  'toolConfig',
  'outputConfig',
  'guardrailConfig',
  'additionalModelResponseFieldPaths',
  'requestMetadata',
  'performanceConfig',
  'serviceTier',
])
/** Blocks without text. */
const NO_TEXT = ['cachePoint', 'image', 'video', 'audio'] as const

export const converseTexts: FormatTexts = { request: readRequest, reply: readReply, event: readEvent }

function readRequest(body: JsonObject, into: TextCollector, native: boolean): void {
  readConversation(body, into, native, SETTINGS, readBlock)
}

/** False for a block of an unknown kind. */
function readBlock(block: JsonObject, list: unknown[], scope: Scope, texts: MessageTexts, native: boolean): boolean {
  let known = texts.text(scope, block, 'text', list)
  if (isObject(block.toolUse)) {
    texts.everything('toolInput', block.toolUse, 'input')
    known = true
  }
  if (isObject(block.toolResult)) {
    texts.content('toolOutput', block.toolResult, 'content', (part, inner) =>
      readBlock(part, inner, 'toolOutput', texts, native),
    )
    known = true
  }
  if (isObject(block.document)) {
    readDocument(block.document, scope, texts)
    known = true
  }
  if (isObject(block.reasoningContent)) {
    const { reasoningText } = block.reasoningContent
    // A provider of this format verifies the signature and would reject changed text; others do not.
    if (isObject(reasoningText) && !(native && typeof reasoningText.signature === 'string')) {
      texts.text(scope, reasoningText, 'text')
    }
    known = true
  }
  return known || NO_TEXT.some(name => block[name] !== undefined)
}

function readDocument(document: JsonObject, scope: Scope, texts: MessageTexts): void {
  for (const name of ['name', 'context']) texts.text(scope, document, name)
  const { source } = document
  if (!isObject(source)) return
  texts.text(scope, source, 'text')
  texts.everything(scope, source, 'content')
}

function readReply(reply: JsonObject, into: TextCollector): void {
  const content = listOf(objectOf(objectOf(reply.output).message).content) as unknown[]
  for (const block of content) {
    if (!isObject(block)) continue
    const texts = into.message('assistant', { told: typeof block.text === 'string' })
    if (!readBlock(block, content, 'messages', texts, false)) texts.everything('messages', { block }, 'block')
    into.onChange(texts.message, () => {
      const { reasoningText } = objectOf(block.reasoningContent)
      // The signature does not match a changed thought.
      if (isObject(reasoningText)) delete reasoningText.signature
    })
  }
  readCopies(reply, into)
}

/** Members that may repeat what the model said. */
function readCopies(holder: JsonObject, into: TextCollector): void {
  for (const name of ['additionalModelResponseFields', 'trace']) {
    if (isObject(holder[name])) into.message('assistant', { told: false }).everything('messages', holder, name)
  }
}

/** Each event is an object with one member, named like its type. */
function readEvent(event: JsonObject, found: EventTexts): void {
  const { contentBlockStart: started, contentBlockDelta: said, contentBlockStop: stopped } = event
  if (isObject(said)) {
    readDelta(said, found)
    return
  }
  found.stays()
  if (isObject(started)) {
    const start = objectOf(started.start)
    const known = Object.keys(start).every(name => ['toolUse', 'toolResult', 'image'].includes(name))
    if (!known) found.whole('assistant').everything('messages', started, 'start')
  } else if (isObject(stopped)) found.closes(`${labelOf(stopped.contentBlockIndex)}:`)
  else if (event.messageStart === undefined) {
    found.closes('')
    for (const value of Object.values(event)) if (isObject(value)) readCopies(value, found.wholes)
  }
}

function readDelta(said: JsonObject, found: EventTexts): void {
  const { contentBlockIndex, delta: given } = said
  const delta = objectOf(given)
  const key = `${labelOf(contentBlockIndex)}:`
  const alone = (member: JsonObject): JsonObject => ({ contentBlockDelta: { contentBlockIndex, delta: member } })
  const { toolUse, reasoningContent, ...rest } = delta
  found.piece(key, 'messages', delta, 'text', text => alone({ text }))
  if (isObject(toolUse)) found.piece(key, 'toolInput', toolUse, 'input', input => alone({ toolUse: { input } }))
  if (isObject(reasoningContent)) {
    found.piece(key, 'messages', reasoningContent, 'text', text => alone({ reasoningContent: { text } }))
    if (typeof reasoningContent.text !== 'string') found.stays()
  }
  for (const name of Object.keys(rest)) {
    if (name === 'text') continue
    found.stays()
    if (name !== 'image')
      found.whole('assistant').everything(name === 'toolResult' ? 'toolOutput' : 'messages', delta, name)
  }
}
