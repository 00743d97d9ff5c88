import type {
  CacheMark,
  Chat,
  DocumentPart,
  OutputFormat,
  Part,
  TextPart,
  Tool,
  ToolChoice,
  Turn,
} from '../../chat/chat.ts'
import { dropCitations, dropPart, joinTexts, textPart, urlOf } from '../../chat/content.ts'
import { defined, isObject, type JsonObject } from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'
import {
  effortFor,
  loseCaches,
  loseDocumentContext,
  loseExtras,
  portableTools,
  stopsFor,
  writeSettings,
} from '../../chat/settings.ts'
import { NAMES } from './decode-request.ts'
import { writeReasoning } from './reasoning.ts'

const MAX_STOPS = 4

interface Target {
  readonly losses: Losses
  /** Whether the model supports cache points (llm.md 3.4). */
  readonly cachePoints: boolean
  readonly thoughts: boolean
}

export function encodeRequest(chat: Chat, losses: Losses): JsonObject {
  const { settings } = chat
  const tools = portableTools(chat, losses)
  const to: Target = { losses, cachePoints: gptVersion(chat.model) >= 5.06, thoughts: chat.takesThoughts === true }
  const body: JsonObject = { model: chat.model, messages: writeMessages(chat, to) }
  writeSettings(chat, NAMES, body, losses, ['metadata'])
  if (settings.metadata !== undefined) {
    losses.drop(chat.names.metadata ?? 'metadata', 'metadata of responses that are not stored')
  }
  if (settings.topLogprobs !== undefined) body.logprobs = true
  const stops = stopsFor(chat, MAX_STOPS, losses)
  if (stops !== undefined) body.stop = stops
  if (settings.reasoning) {
    const effort = effortFor(settings.reasoning)
    if (effort !== undefined) body.reasoning_effort = effort
  }
  if (tools.length > 0 && gptVersion(chat.model) > 5.02) {
    if (body.reasoning_effort !== undefined && body.reasoning_effort !== 'none') {
      losses.add(
        chat.names.reasoning ?? 'reasoning',
        'this model does not allow tools together with reasoning here; sent as `none`',
      )
    }
    body.reasoning_effort = 'none'
  }
  if (settings.output) body.response_format = writeOutput(settings.output)
  if (tools.length > 0) body.tools = tools.map(writeTool)
  if (chat.toolChoice && tools.length > 0) body.tool_choice = writeToolChoice(chat.toolChoice)
  if (tools.length === 0) delete body.parallel_tool_calls
  if (chat.stream) {
    body.stream = true
    body.stream_options = { include_usage: true }
  }
  loseCaches(chat, losses, to.cachePoints)
  loseExtras(chat, losses)
  return body
}

/** `gpt-5.6-mini` is 5.06; 0 for other models. */
function gptVersion(model: string): number {
  const match = /^gpt-(\d+)(?:\.(\d+))?(?:-|$)/.exec(model)
  return match ? Number(match[1]) + Number(match[2] ?? 0) / 100 : 0
}

function writeOutput(output: OutputFormat): JsonObject {
  if (output.kind === 'json') return { type: 'json_object' }
  const { schema, name = 'structured_output', description, strict } = output
  return { type: 'json_schema', json_schema: defined({ name, description, schema, strict }) }
}

function writeTool({ name, description, schema, strict, custom }: Tool): JsonObject {
  if (custom) return { type: 'custom', custom: defined({ name, description, format: nested(schema) }) }
  return {
    type: 'function',
    function: defined({ name, description, parameters: schema ?? { type: 'object', properties: {} }, strict }),
  }
}

/** This format nests a grammar in an object of its own. */
function nested(format: unknown): unknown {
  if (!isObject(format) || format.type !== 'grammar') return format
  const { type, ...grammar } = format
  return { type, grammar }
}

function writeToolChoice(choice: ToolChoice): unknown {
  if (choice.mode === 'tool') {
    const { name, custom } = choice
    return custom ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } }
  }
  if (choice.mode !== 'some') return choice.mode
  const tools = choice.names.map(name => ({ type: 'function', function: { name } }))
  return { type: 'allowed_tools', allowed_tools: { mode: choice.required ? 'required' : 'auto', tools } }
}

function writeMessages(chat: Chat, to: Target): JsonObject[] {
  const messages: JsonObject[] = []
  if (chat.system.length > 0) messages.push({ role: 'system', content: writeTexts(chat.system, to) })
  for (const turn of chat.turns) messages.push(...writeTurn(turn, to))
  return messages
}

/** A single text becomes a string; several stay separate parts. */
function writeTexts(parts: readonly TextPart[], to: Target): unknown {
  const [only] = parts
  if (only && parts.length === 1 && (only.cache === undefined || !to.cachePoints)) return only.text
  return parts.map(({ text, cache }) => ({ type: 'text', text, ...writeCache(cache, to) }))
}

function writeCache(cache: CacheMark | undefined, to: Target): JsonObject {
  return cache && to.cachePoints ? { prompt_cache_breakpoint: { mode: 'explicit' } } : {}
}

function writeTurn(turn: Turn, to: Target): JsonObject[] {
  const name = turn.name === undefined ? {} : { name: turn.name }
  if (turn.role === 'assistant') return writeAssistant(turn, to).map(message => ({ ...message, ...name }))
  const messages: JsonObject[] = []
  const content: JsonObject[] = []
  // Results come first: providers require them directly after the calls that they answer.
  for (const part of turn.parts) {
    if (part.kind !== 'toolResult') content.push(...writePart(part, to))
    else {
      messages.push({ role: 'tool', tool_call_id: part.id, content: writeResult(part, to) })
      content.push(...mediaOf(part.parts, to))
    }
  }
  if (content.length > 0) messages.push({ role: turn.role, content: onlyText(content) ?? content, ...name })
  return messages
}

/** Empty if nothing that the model said can be sent back: the API rejects an empty message. */
function writeAssistant({ parts }: Turn, to: Target): JsonObject[] {
  const content: JsonObject[] = []
  const calls: JsonObject[] = []
  const reasoning: Part[] = []
  let refusal: string | undefined
  for (const part of parts) {
    if (part.kind === 'toolCall') calls.push(writeCall(part))
    else if (part.kind === 'reasoning' && to.thoughts) reasoning.push(part)
    else if (part.kind === 'reasoning') to.losses.drop(part.at, 'reasoning of earlier turns')
    else if (part.kind === 'refusal') refusal = (refusal ?? '') + part.text
    else if (part.kind === 'foreign' && part.type === 'audio') to.losses.drop(part.at, 'audio of earlier replies')
    else content.push(...writePart(part, to))
  }
  if (content.length + calls.length + reasoning.length === 0 && refusal === undefined) return []
  const message = {
    role: 'assistant',
    content: content.length === 0 ? null : (onlyText(content) ?? content),
    ...writeReasoning(reasoning),
    refusal,
    tool_calls: calls.length === 0 ? undefined : calls,
  }
  return [defined(message)]
}

export function writeCall(part: Extract<Part, { kind: 'toolCall' }>): JsonObject {
  const { id } = part
  return part.custom
    ? { id, type: 'custom', custom: { name: part.name, input: part.arguments } }
    : { id, type: 'function', function: { name: part.name, arguments: part.arguments || '{}' } }
}

function onlyText(content: readonly JsonObject[]): string | undefined {
  const [only] = content
  if (content.length !== 1 || only?.type !== 'text' || Object.keys(only).length !== 2) return undefined
  return only.text as string
}

function writePart(part: Part, to: Target): JsonObject[] {
  switch (part.kind) {
    case 'text':
      dropCitations(part, to.losses)
      return [{ type: 'text', text: part.text, ...writeCache(part.cache, to) }]
    case 'refusal':
      return [{ type: 'text', text: part.text }]
    case 'image': {
      const url = urlOf(part.source)
      if (url === undefined)
        throw new Untranslatable(part.at, 'the file is stored at another provider; send its content')
      return [{ type: 'image_url', image_url: defined({ url, detail: part.detail }) }]
    }
    case 'audio': {
      const format = part.mediaType === 'audio/mpeg' ? 'mp3' : part.mediaType.replace(/^audio\/(x-)?/, '')
      if (format !== 'mp3' && format !== 'wav')
        throw new Untranslatable(part.at, 'Chat Completions takes WAV and MP3 only')
      return [{ type: 'input_audio', input_audio: { data: part.data, format } }]
    }
    case 'document':
      return [writeDocument(part, to)]
    default:
      dropPart(part, to.losses)
      return []
  }
}

function writeDocument(part: DocumentPart, { losses }: Target): JsonObject {
  const { source, name, at } = part
  loseDocumentContext(part, losses, source.kind === 'data')
  if (source.kind === 'text') return { type: 'text', text: source.text }
  if (source.kind !== 'data')
    throw new Untranslatable(at, 'Chat Completions takes only the content of documents, not their address')
  const filename = name ?? `document.${source.mediaType.split('/')[1] ?? 'pdf'}`
  return { type: 'file', file: { filename, file_data: urlOf(source) } }
}

/** Results are plain text here, so a failure can only be expressed in words. */
function writeResult(part: Extract<Part, { kind: 'toolResult' }>, to: Target): unknown {
  const texts = part.parts.filter(each => each.kind === 'text')
  if (part.error) to.losses.add(`${part.at}.is_error`, 'Chat Completions has no failed results; said in the text')
  const marked = part.error ? [textPart('Error:', part.at), ...texts] : texts
  if (marked.every(text => text.cache === undefined)) return joinTexts(marked, part.error ? '\n' : '')
  return writeTexts(marked, to)
}

/** Media in a result follow it as a user message. */
function mediaOf(parts: readonly Part[], to: Target): JsonObject[] {
  return parts.flatMap(part => {
    if (part.kind === 'text') return []
    to.losses.add(part.at, 'Chat Completions takes only text in results; moved to a user message after it')
    return writePart(part, to)
  })
}
