import type {
  CacheMark,
  Chat,
  DocumentPart,
  ImagePart,
  OutputFormat,
  Part,
  Source,
  TextPart,
  Tool,
  ToolCallPart,
  ToolResultPart,
} from '../../chat/chat.ts'
import { thinkingFor, withoutSampling } from '../../chat/claude.ts'
import { argumentsFor, argumentsObject, dropCitations, dropPart, isBlank, schemaFor } from '../../chat/content.ts'
import { defined, type JsonObject } from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'
import {
  allInstructions,
  budgetOf,
  loseDetails,
  loseExtras,
  loseNames,
  portableTools,
  writeSettings,
} from '../../chat/settings.ts'
import { PLAIN } from './decode-request.ts'

/** Required by the API, and omitted by OpenAI's clients. */
const MAX_TOKENS = 4096
/** Settings that are written separately. */
const WRITTEN = ['maxTokens', 'parallelTools', 'user', 'metadata', 'serviceTier'] as const
/** OpenAI's names of the service tiers, with this format's. */
const TIERS: Readonly<Record<string, string>> = { auto: 'auto', default: 'standard_only' }

export function encodeRequest(chat: Chat, losses: Losses): JsonObject {
  const { settings } = chat
  const body: JsonObject = { model: chat.model, max_tokens: settings.maxTokens ?? MAX_TOKENS }
  const system = allInstructions(chat, losses)
  if (system.length > 0) body.system = writeSystem(system)
  body.messages = writeTurns(chat, losses)
  const thinks = replaysThinking(chat, losses) ? thinkingFor(chat, body.max_tokens as number, losses) : undefined
  if (thinks) body.thinking = thinks.thinking
  writeSettings(chat, PLAIN, body, losses, [...WRITTEN, ...withoutSampling(chat, thinks !== undefined, losses)])
  clampTemperature(chat, body, losses)
  writeStops(chat, body, losses)
  writeTier(chat, body, losses)
  writeMetadata(chat, body, losses)
  const format = settings.output && writeOutput(settings.output, chat, losses)
  if (format || thinks?.effort) body.output_config = defined({ effort: thinks?.effort, format })
  const tools = portableTools(chat, losses).map(writeTool)
  if (tools.length > 0) {
    body.tools = tools
    const choice = writeToolChoice(chat, thinks !== undefined, losses)
    if (choice) body.tool_choice = choice
  }
  if (chat.stream) body.stream = true
  loseNames(chat, losses)
  loseDetails(chat, losses)
  loseExtras(chat, losses)
  return body
}

/** The API rejects strings that are only white space. */
function writeStops({ settings, names }: Chat, body: JsonObject, losses: Losses): void {
  const stops = settings.stop?.filter(text => !isBlank(text)) ?? []
  if (stops.length < (settings.stop?.length ?? 0))
    losses.add(names.stop ?? 'stop', 'Anthropic rejects blank stop sequences; dropped')
  if (stops.length > 0) body.stop_sequences = stops
}

function writeTier({ settings: { serviceTier: tier }, names }: Chat, body: JsonObject, losses: Losses): void {
  if (tier === undefined) return
  if (Object.hasOwn(TIERS, tier)) body.service_tier = TIERS[tier]
  else losses.drop(names.serviceTier ?? 'serviceTier', `the tier \`${tier}\``)
}

function writeSystem(parts: readonly TextPart[]): unknown {
  if (parts.every(({ cache }) => cache === undefined)) return parts.map(({ text }) => text).join('\n')
  return parts.map(writeText)
}

/** In the middle of a tool call, the API accepts thinking only with the thinking that led to the call. */
function replaysThinking({ turns, settings, names }: Chat, losses: Losses): boolean {
  if (budgetOf(settings.reasoning) === undefined) return true
  const last = turns.findLast(({ role }) => role === 'assistant')
  const called = last?.parts.some(part => part.kind === 'toolCall')
  const pending = turns.at(-1)?.parts.some(part => part.kind === 'toolResult')
  const signed = last?.parts.some(
    part => part.kind === 'reasoning' && (part.signature !== undefined || part.redacted !== undefined),
  )
  if (!called || !pending || signed) return true
  losses.add(
    names.reasoning ?? 'reasoning',
    'the conversation has a tool call without the thinking that led to it; thinking turned off',
  )
  return false
}

function clampTemperature({ names }: Chat, body: JsonObject, losses: Losses): void {
  if (typeof body.temperature !== 'number' || body.temperature <= 1) return
  losses.add(names.temperature ?? 'temperature', "Anthropic's maximum is 1; lowered")
  body.temperature = 1
}

function writeMetadata({ settings, names }: Chat, body: JsonObject, losses: Losses): void {
  if (settings.user !== undefined) body.metadata = { user_id: settings.user }
  if (settings.metadata !== undefined) losses.drop(names.metadata ?? 'metadata', 'metadata except a user id')
}

function writeOutput(output: OutputFormat, { names }: Chat, losses: Losses): JsonObject {
  if (output.kind === 'json') return { type: 'json_schema', schema: { type: 'object', additionalProperties: true } }
  if (output.description !== undefined)
    losses.drop(`${names.output ?? 'output'}.description`, 'descriptions of schemas')
  return { type: 'json_schema', schema: output.schema }
}

function writeTool(tool: Tool): JsonObject {
  const { name, description, cache } = tool
  return defined({ name, description, input_schema: schemaFor(tool), ...writeCache(cache) })
}

function writeToolChoice({ toolChoice, settings }: Chat, thinking: boolean, losses: Losses): JsonObject | undefined {
  const parallel = settings.parallelTools === undefined ? {} : { disable_parallel_tool_use: !settings.parallelTools }
  if (toolChoice === undefined) return settings.parallelTools === undefined ? undefined : { type: 'auto', ...parallel }
  if (toolChoice.mode === 'none') return { type: 'none' }
  const forced = toolChoice.mode !== 'auto'
  if (forced && thinking) {
    losses.add('tool_choice', 'Anthropic does not force tools while thinking; sent as `auto`')
    return { type: 'auto', ...parallel }
  }
  if (toolChoice.mode === 'tool') return { type: 'tool', name: toolChoice.name, ...parallel }
  if (toolChoice.mode === 'some') {
    losses.add('tool_choice', 'Anthropic Messages cannot limit the choice to some tools; all may be called')
    return { type: toolChoice.required ? 'any' : 'auto', ...parallel }
  }
  return { type: toolChoice.mode === 'required' ? 'any' : 'auto', ...parallel }
}

/** Consecutive turns of one role become one message, as the API requires. */
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

/** Thinking comes first in a message of the model, results in one of the user. */
function rank({ type }: JsonObject): number {
  return type === 'tool_result' ? 0 : 1
}

function writePart(part: Part, losses: Losses): JsonObject[] {
  switch (part.kind) {
    case 'text':
      dropCitations(part, losses)
      return isBlank(part.text) ? [] : [writeText(part)]
    case 'refusal':
      return isBlank(part.text) ? [] : [{ type: 'text', text: part.text }]
    case 'image':
      return [writeImage(part)]
    case 'document':
      return [writeDocument(part)]
    case 'toolCall':
      return [{ ...writeCall(part), input: argumentsFor(part, losses) }]
    case 'toolResult':
      return [writeResult(part, losses)]
    case 'reasoning':
      return writeReasoning(part, losses)
    default:
      dropPart(part, losses)
      return []
  }
}

function writeCache(cache: CacheMark | undefined): JsonObject {
  if (cache === undefined) return {}
  return { cache_control: defined({ type: 'ephemeral', ttl: cache.ttl }) }
}

function writeText({ text, cache }: TextPart): JsonObject {
  return { type: 'text', text, ...writeCache(cache) }
}

function writeImage({ source, cache, at }: ImagePart): JsonObject {
  return { type: 'image', source: writeSource(source, at), ...writeCache(cache) }
}

function writeDocument(part: DocumentPart): JsonObject {
  const { source, name, cache, citations, context, at } = part
  if (source.kind === 'data' && source.mediaType.startsWith('image/')) {
    return writeImage({ kind: 'image', source, at, ...(cache ? { cache } : {}) })
  }
  return defined({
    type: 'document',
    source: documentSource(part),
    title: name,
    context,
    citations: citations ? { enabled: true } : undefined,
    ...writeCache(cache),
  })
}

/** The bytes of a PDF, or the text of any other document. */
function documentSource({ source, name, at }: DocumentPart): JsonObject {
  if (source.kind === 'url' && /^(?:video|audio)\//.test(source.mediaType ?? ''))
    throw new Untranslatable(at, 'Anthropic takes PDF and text only')
  if (source.kind !== 'data') return writeSource(source, at)
  const type = source.mediaType || (/\.(txt|md|csv)$/.test(name ?? '') ? 'text/plain' : 'application/pdf')
  if (type === 'application/pdf') return writeSource({ ...source, mediaType: type }, at)
  if (!type.startsWith('text/') && type !== 'application/json') {
    throw new Untranslatable(at, 'Anthropic takes PDF and text only')
  }
  return writeSource({ kind: 'text', text: Buffer.from(source.data, 'base64').toString('utf8') }, at)
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
      throw new Untranslatable(at, 'the file is stored at another provider; send its content')
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

/** The API verifies signatures, and rejects thinking without one. */
function writeReasoning(
  { text, signature, redacted, at }: Extract<Part, { kind: 'reasoning' }>,
  losses: Losses,
): JsonObject[] {
  if (redacted !== undefined) return [{ type: 'redacted_thinking', data: redacted }]
  if (signature !== undefined) return [{ type: 'thinking', thinking: text, signature }]
  losses.add(at, 'Anthropic rejects reasoning without its signature; dropped')
  return []
}
