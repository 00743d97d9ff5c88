import type {
  CacheMark,
  Chat,
  DocumentPart,
  ImagePart,
  OutputFormat,
  Part,
  Reasoning,
  Source,
  TextPart,
  Tool,
  ToolCallPart,
  ToolResultPart,
} from '../../chat/chat.ts'
import { argumentsObject, isBlank } from '../../chat/content.ts'
import { defined, type JsonObject } from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'
import { budgetOf, loseExtras, portableTools, writeSettings } from '../../chat/settings.ts'
import { LEAST_BUDGET, PLAIN } from './decode-request.ts'

/** What the API asks of everybody and OpenAI's clients leave out. */
const MAX_TOKENS = 4096
const SAMPLING = ['temperature', 'topK'] as const
/** Settings with a place of their own. */
const WRITTEN = ['maxTokens', 'parallelTools', 'user', 'metadata'] as const

export function encodeRequest(chat: Chat, losses: Losses): JsonObject {
  const { settings } = chat
  const body: JsonObject = { model: chat.model, max_tokens: settings.maxTokens ?? MAX_TOKENS }
  const system = [...chat.system, ...movedSystem(chat, losses)].filter(({ text }) => !isBlank(text))
  if (system.length > 0) body.system = writeSystem(system)
  body.messages = writeTurns(chat, losses)
  const thinking = replaysThinking(chat, losses)
    ? writeThinking(settings.reasoning, body.max_tokens as number)
    : undefined
  if (thinking) body.thinking = thinking
  // With thinking, the API takes no sampling.
  if (thinking) loseSampling(chat, losses)
  writeSettings(chat, PLAIN, body, losses, [...WRITTEN, ...(thinking ? SAMPLING : [])])
  clampTemperature(chat, body, losses)
  if (settings.stop?.length) body.stop_sequences = settings.stop
  writeMetadata(chat, body, losses)
  if (settings.output) body.output_config = { format: writeOutput(settings.output, chat, losses) }
  const tools = portableTools(chat, losses).map(writeTool)
  if (tools.length > 0) {
    body.tools = tools
    const choice = writeToolChoice(chat, thinking !== undefined, losses)
    if (choice) body.tool_choice = choice
  }
  if (chat.stream) body.stream = true
  loseExtras(chat, losses)
  return body
}

/** System messages within the conversation have no place of their own here. */
function movedSystem({ turns }: Chat, losses: Losses): TextPart[] {
  return turns.flatMap(({ role, parts, at }) => {
    if (role !== 'system') return []
    losses.add(at, 'moved to the front: instructions within a conversation have no place at the provider')
    return parts.filter(part => part.kind === 'text')
  })
}

function writeSystem(parts: readonly TextPart[]): unknown {
  if (parts.every(({ cache }) => cache === undefined)) return parts.map(({ text }) => text).join('\n')
  return parts.map(writeText)
}

/** In the middle of a tool call, the API thinks on only with the thoughts that led to the call. */
function replaysThinking({ turns, settings, names }: Chat, losses: Losses): boolean {
  if (budgetOf(settings.reasoning) === undefined) return true
  const last = turns.findLast(({ role }) => role === 'assistant')
  const called = last?.parts.some(part => part.kind === 'toolCall')
  const pending = turns.at(-1)?.parts.some(part => part.kind === 'toolResult')
  const signed = last?.parts.some(
    part => part.kind === 'reasoning' && (part.signature !== undefined || part.redacted !== undefined),
  )
  if (!called || !pending || signed) return true
  losses.add(names.reasoning ?? 'reasoning', 'the history has a tool call without the thinking that led to it')
  return false
}

function writeThinking(reasoning: Reasoning | undefined, maxTokens: number): JsonObject | undefined {
  const budget = budgetOf(reasoning)
  if (budget === undefined || budget < LEAST_BUDGET || maxTokens <= LEAST_BUDGET) return undefined
  return { type: 'enabled', budget_tokens: Math.min(budget, maxTokens - 1) }
}

function loseSampling({ settings, names }: Chat, losses: Losses): void {
  for (const setting of SAMPLING) {
    if (settings[setting] !== undefined && settings[setting] !== 1) {
      losses.add(names[setting] ?? setting, 'the provider takes it only without thinking')
    }
  }
}

function clampTemperature({ names }: Chat, body: JsonObject, losses: Losses): void {
  if (typeof body.temperature !== 'number' || body.temperature <= 1) return
  losses.add(names.temperature ?? 'temperature', "the provider's largest is 1")
  body.temperature = 1
}

function writeMetadata({ settings, names }: Chat, body: JsonObject, losses: Losses): void {
  if (settings.user !== undefined) body.metadata = { user_id: settings.user }
  if (settings.metadata !== undefined) losses.add(names.metadata ?? 'metadata', 'the provider takes a user id only')
}

function writeOutput(output: OutputFormat, { names }: Chat, losses: Losses): JsonObject {
  if (output.kind === 'json') return { type: 'json_schema', schema: { type: 'object', additionalProperties: true } }
  if (output.description !== undefined)
    losses.add(`${names.output ?? 'output'}.description`, 'has no counterpart at the provider')
  return { type: 'json_schema', schema: output.schema }
}

function writeTool({ name, description, schema, custom, cache }: Tool): JsonObject {
  const text = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] }
  const input = custom ? text : (schema ?? { type: 'object', properties: {} })
  return defined({ name, description, input_schema: input, ...writeCache(cache) })
}

function writeToolChoice(
  { toolChoice, settings, names }: Chat,
  thinking: boolean,
  losses: Losses,
): JsonObject | undefined {
  const parallel = settings.parallelTools === undefined ? {} : { disable_parallel_tool_use: !settings.parallelTools }
  if (toolChoice === undefined) return settings.parallelTools === undefined ? undefined : { type: 'auto', ...parallel }
  if (toolChoice.mode === 'none') return { type: 'none' }
  const forced = toolChoice.mode !== 'auto'
  if (forced && thinking) {
    losses.add('tool_choice', `with ${names.reasoning ?? 'thinking'} the provider lets the model choose`)
    return { type: 'auto', ...parallel }
  }
  if (toolChoice.mode === 'tool') return { type: 'tool', name: toolChoice.name, ...parallel }
  if (toolChoice.mode === 'some') {
    losses.add('tool_choice', 'the provider cannot be limited to some of the tools')
    return { type: toolChoice.required ? 'any' : 'auto', ...parallel }
  }
  return { type: toolChoice.mode === 'required' ? 'any' : 'auto', ...parallel }
}

/** Neighbours of one role become one message, as the API has it. */
function writeTurns(chat: Chat, losses: Losses): JsonObject[] {
  const messages: { role: string; content: JsonObject[] }[] = []
  for (const { role, parts } of chat.turns) {
    if (role === 'system') continue
    const content = parts.flatMap(part => writePart(part, losses))
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...content)
    else if (content.length > 0) messages.push({ role, content })
  }
  for (const message of messages) message.content.sort((a, b) => rank(a) - rank(b))
  return messages
}

/** Thinking opens a message of the model; results open one of the user. */
function rank({ type }: JsonObject): number {
  return type === 'tool_result' ? 0 : 1
}

function writePart(part: Part, losses: Losses): JsonObject[] {
  switch (part.kind) {
    case 'text':
      return isBlank(part.text) ? [] : [writeText(part)]
    case 'refusal':
      return isBlank(part.text) ? [] : [{ type: 'text', text: part.text }]
    case 'image':
      return [writeImage(part, losses)]
    case 'document':
      return [writeDocument(part)]
    case 'toolCall':
      return [writeCall(part)]
    case 'toolResult':
      return [writeResult(part, losses)]
    case 'reasoning':
      return writeReasoning(part, losses)
    default:
      losses.add(part.at, `\`${part.kind === 'foreign' ? part.type : part.kind}\` has no counterpart at the provider`)
      return []
  }
}

function writeCache(cache: CacheMark | undefined): JsonObject {
  return cache === undefined ? {} : { cache_control: { type: 'ephemeral', ...cache } }
}

function writeText({ text, cache }: TextPart): JsonObject {
  return { type: 'text', text, ...writeCache(cache) }
}

function writeImage({ source, detail, cache, at }: ImagePart, losses: Losses): JsonObject {
  if (detail !== undefined && detail !== 'auto')
    losses.add(`${at}.image_url.detail`, 'has no counterpart at the provider')
  return { type: 'image', source: writeSource(source, at), ...writeCache(cache) }
}

function writeDocument({ source, name, cache, at }: DocumentPart): JsonObject {
  const given = source.kind === 'data' && source.mediaType === '' ? { ...source, mediaType: mediaTypeOf(name) } : source
  return defined({ type: 'document', source: writeSource(given, at), title: name, ...writeCache(cache) })
}

function mediaTypeOf(name: string | undefined): string {
  return name?.endsWith('.txt') ? 'text/plain' : 'application/pdf'
}

function writeSource(source: Source, at: string): JsonObject {
  switch (source.kind) {
    case 'data': {
      const mediaType = source.mediaType === 'image/jpg' ? 'image/jpeg' : source.mediaType
      return { type: 'base64', media_type: mediaType, data: source.data }
    }
    case 'url':
      return { type: 'url', url: source.url }
    case 'text':
      return { type: 'text', media_type: 'text/plain', data: source.text }
    case 'file':
      throw new Untranslatable(at, "a file at the client's provider cannot be shown to another one")
  }
}

export function writeCall(part: ToolCallPart): JsonObject {
  const input = part.custom ? { input: part.arguments } : (argumentsObject(part.arguments) ?? part.arguments)
  return { type: 'tool_use', id: part.id, name: part.name, input, ...writeCache(part.cache) }
}

function writeResult(part: ToolResultPart, losses: Losses): JsonObject {
  const content = part.parts.flatMap(each => writePart(each, losses))
  const [only] = content
  const plain = content.length === 1 && only?.type === 'text' && only.cache_control === undefined
  return defined({
    type: 'tool_result',
    tool_use_id: part.id,
    content: content.length === 0 ? undefined : plain ? only.text : content,
    is_error: part.error,
    ...writeCache(part.cache),
  })
}

/** The API checks signatures, and refuses thinking without one. */
function writeReasoning(
  { text, signature, redacted, at }: Extract<Part, { kind: 'reasoning' }>,
  losses: Losses,
): JsonObject[] {
  if (redacted !== undefined) return [{ type: 'redacted_thinking', data: redacted }]
  if (signature !== undefined) return [{ type: 'thinking', thinking: text, signature }]
  losses.add(at, 'reasoning without a signature is not taken back by the provider')
  return []
}
