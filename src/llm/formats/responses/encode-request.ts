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
import { dropCitations, dropPart, joinTexts, urlOf } from '../../chat/content.ts'
import { defined, type JsonObject } from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'
import {
  effortFor,
  loseCaches,
  loseDocumentContext,
  loseExtras,
  loseSpeakers,
  portableTools,
  summaryFor,
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
  if (settings.stop) losses.drop(chat.names.stop ?? 'stop', 'stop sequences')
  const effort = settings.reasoning && effortFor(settings.reasoning)
  const summary = settings.reasoning && summaryFor(settings.reasoning)
  if (effort !== undefined || summary !== undefined) body.reasoning = defined({ effort, summary })
  const text = defined({ format: settings.output && writeOutput(settings.output), verbosity: settings.verbosity })
  if (Object.keys(text).length > 0) body.text = text
  const tools = portableTools(chat, losses)
  if (tools.length > 0) body.tools = tools.map(writeTool)
  else delete body.parallel_tool_calls
  if (chat.toolChoice && tools.length > 0) body.tool_choice = writeToolChoice(chat.toolChoice)
  if (chat.stream) body.stream = true
  // It could never be retrieved: the client does not know this format's ids.
  body.store = false
  loseSpeakers(chat, losses)
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
  losses.drop(part.at, 'reasoning of another provider')
  return []
}

/** A call, as in conversations and responses. */
export function writeCall(part: ToolCallPart): JsonObject {
  return part.custom
    ? { type: 'custom_tool_call', call_id: part.id, name: part.name, input: part.arguments }
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
  if (part.custom) return { type: 'custom_tool_call_output', call_id: part.id, output }
  return { type: 'function_call_output', call_id: part.id, output, status: part.error ? 'incomplete' : 'completed' }
}

function writePart(part: Part, role: Role, losses: Losses): JsonObject[] {
  switch (part.kind) {
    case 'text':
      dropCitations(part, losses)
      if (role === 'assistant' && part.text === '') return []
      return [role === 'assistant' ? { type: 'output_text', text: part.text, annotations: [] } : writeText(part)]
    case 'refusal':
      return [{ type: 'refusal', refusal: part.text }]
    case 'image':
      return [writeImage(part.source, part.detail, part.at)]
    case 'document':
      return [writeDocument(part, losses)]
    case 'audio':
      throw new Untranslatable(part.at, 'OpenAI Responses takes no audio')
    default:
      dropPart(part, losses)
      return []
  }
}

function writeText({ text, cache }: TextPart): JsonObject {
  return { type: 'input_text', text, ...(cache ? { prompt_cache_breakpoint: { mode: 'explicit' } } : {}) }
}

function writeImage(source: Source, detail: string | undefined, at: string): JsonObject {
  const url = urlOf(source)
  if (url === undefined) throw new Untranslatable(at, 'the file is stored at another provider; send its content')
  return { type: 'input_image', image_url: url, detail: detail ?? 'auto' }
}

function writeDocument(part: DocumentPart, losses: Losses): JsonObject {
  const { source, name, at } = part
  loseDocumentContext(part, losses, source.kind === 'data')
  if (source.kind === 'text') return { type: 'input_text', text: source.text }
  if (source.kind === 'file') {
    throw new Untranslatable(at, 'the file is stored at another provider; send its content')
  }
  if (source.kind === 'url') return { type: 'input_file', file_url: source.url }
  const filename = name ?? `document.${source.mediaType.split('/')[1] ?? 'pdf'}`
  return { type: 'input_file', filename, file_data: urlOf(source) }
}
