import type {
  Chat,
  DocumentPart,
  OutputFormat,
  Part,
  ReasoningPart,
  Role,
  Source,
  TextPart,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResultPart,
  Turn,
} from '../../chat/chat.ts'
import { joinTexts, urlOf } from '../../chat/content.ts'
import { defined, type JsonObject } from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'
import {
  effortFor,
  loseCaches,
  loseDocumentContext,
  loseExtras,
  portableTools,
  writeSettings,
} from '../../chat/settings.ts'
import { LOGPROBS, PLAIN } from './decode-request.ts'

export function encodeRequest(chat: Chat, losses: Losses): JsonObject {
  const { settings } = chat
  const marked = chat.system.some(({ cache }) => cache !== undefined)
  const body: JsonObject = { model: chat.model }
  if (chat.system.length > 0 && !marked) body.instructions = joinTexts(chat.system, '\n')
  const system = marked ? [{ type: 'message', role: 'system', content: chat.system.map(part => writeText(part)) }] : []
  body.input = [...system, ...chat.turns.flatMap((turn, i) => writeTurn(turn, `msg_${i}`, losses))]
  writeSettings(chat, PLAIN, body, losses, ['verbosity', 'logprobs'])
  if (settings.logprobs) body.include = [LOGPROBS]
  if (settings.stop) losses.add(chat.names.stop ?? 'stop', 'the provider has no stop strings')
  const effort = settings.reasoning && effortFor(settings.reasoning)
  if (effort !== undefined || settings.reasoning?.summary !== undefined) {
    body.reasoning = defined({ effort, summary: settings.reasoning?.summary })
  }
  const text = defined({ format: settings.output && writeOutput(settings.output), verbosity: settings.verbosity })
  if (Object.keys(text).length > 0) body.text = text
  const tools = portableTools(chat, losses)
  if (tools.length > 0) body.tools = tools.map(writeTool)
  else delete body.parallel_tool_calls
  if (chat.toolChoice && tools.length > 0) body.tool_choice = writeToolChoice(chat.toolChoice)
  if (chat.stream) body.stream = true
  // It could never be retrieved: the client does not know this format's ids.
  body.store = false
  for (const { name, at } of chat.turns)
    if (name !== undefined) losses.add(`${at}.name`, 'speakers have no names there')
  loseCaches(chat, losses, true)
  loseExtras(chat, losses)
  return body
}

function writeOutput(output: OutputFormat): JsonObject {
  if (output.kind === 'json') return { type: 'json_object' }
  const { schema, name = 'structured_output', description, strict } = output
  return defined({ type: 'json_schema', name, description, schema, strict })
}

function writeTool({ name, description, schema, strict, custom }: Tool): JsonObject {
  if (custom) return defined({ type: 'custom', name, description, format: schema })
  const parameters = schema ?? { type: 'object', properties: {} }
  return defined({ type: 'function', name, description, parameters, strict: strict ?? false })
}

function writeToolChoice(choice: ToolChoice): unknown {
  if (choice.mode === 'tool') return { type: choice.custom ? 'custom' : 'function', name: choice.name }
  if (choice.mode !== 'some') return choice.mode
  const tools = choice.names.map(name => ({ type: 'function', name }))
  return { type: 'allowed_tools', mode: choice.required ? 'required' : 'auto', tools }
}

/** The model's message is an output item, for which the API requires an id. */
function writeTurn(turn: Turn, id: string, losses: Losses): JsonObject[] {
  const items: JsonObject[] = []
  let content: JsonObject[] = []
  const flush = (): void => {
    if (content.length === 0) return
    const named = turn.role === 'assistant' ? { id: items.length === 0 ? id : `${id}_${items.length}` } : {}
    const status = turn.role === 'assistant' ? { status: 'completed' } : {}
    items.push({ type: 'message', ...named, role: turn.role, content, ...status })
    content = []
  }
  for (const part of turn.parts) {
    if (part.kind === 'toolCall' || part.kind === 'toolResult' || part.kind === 'reasoning') {
      flush()
      items.push(...writeItem(part, losses))
    } else content.push(...writePart(part, turn.role, losses))
  }
  flush()
  return items
}

function writeItem(part: ToolCallPart | ToolResultPart | ReasoningPart, losses: Losses): JsonObject[] {
  if (part.kind === 'toolCall') return [writeCall(part)]
  if (part.kind === 'toolResult') return [writeResult(part, losses)]
  losses.add(part.at, 'reasoning of another provider is not taken back by this one')
  return []
}

/** A call, as in conversations and responses. */
export function writeCall(part: ToolCallPart): JsonObject {
  return part.custom
    ? { type: 'custom_tool_call', call_id: part.id, name: part.name, input: part.arguments, status: 'completed' }
    : {
        type: 'function_call',
        call_id: part.id,
        name: part.name,
        arguments: part.arguments || '{}',
        status: 'completed',
      }
}

function writeResult(part: ToolResultPart, losses: Losses): JsonObject {
  const plain = part.parts.every(each => each.kind === 'text' && each.cache === undefined)
  const output = plain ? joinTexts(part.parts, '') : part.parts.flatMap(each => writePart(each, 'user', losses))
  return {
    type: part.custom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: part.id,
    output,
    status: part.error ? 'incomplete' : 'completed',
  }
}

function writePart(part: Part, role: Role, losses: Losses): JsonObject[] {
  switch (part.kind) {
    case 'text':
      if (part.citations?.length) losses.add(`${part.at}.citations`, 'citations are not carried')
      if (role === 'assistant' && part.text === '') return []
      return [role === 'assistant' ? { type: 'output_text', text: part.text, annotations: [] } : writeText(part)]
    case 'refusal':
      return [{ type: 'refusal', refusal: part.text }]
    case 'image':
      return [writeImage(part.source, part.detail, part.at)]
    case 'document':
      return [writeDocument(part, losses)]
    case 'audio': {
      const format = part.mediaType === 'audio/mpeg' ? 'mp3' : part.mediaType.replace(/^audio\/(x-)?/, '')
      return [{ type: 'input_audio', input_audio: { data: part.data, format } }]
    }
    default:
      losses.add(part.at, `\`${part.kind === 'foreign' ? part.type : part.kind}\` has no counterpart at the provider`)
      return []
  }
}

function writeText({ text, cache }: TextPart): JsonObject {
  return { type: 'input_text', text, ...(cache ? { prompt_cache_breakpoint: { mode: 'explicit' } } : {}) }
}

function writeImage(source: Source, detail: string | undefined, at: string): JsonObject {
  const url = urlOf(source)
  if (url === undefined) throw new Untranslatable(at, "a file at the client's provider cannot be shown to another one")
  return { type: 'input_image', image_url: url, detail: detail ?? 'auto' }
}

function writeDocument(part: DocumentPart, losses: Losses): JsonObject {
  loseDocumentContext(part, losses)
  const { source, name, at } = part
  if (source.kind === 'text') return { type: 'input_text', text: source.text }
  if (source.kind === 'file') {
    throw new Untranslatable(at, "a file at the client's provider cannot be shown to another one")
  }
  if (source.kind === 'url') return { type: 'input_file', file_url: source.url }
  const filename = name ?? `document.${source.mediaType.split('/')[1] ?? 'pdf'}`
  return { type: 'input_file', filename, file_data: urlOf(source) }
}
