import type {
  Chat,
  OutputFormat,
  Part,
  Reasoning,
  SettingNames,
  Source,
  TextPart,
  Tool,
  ToolChoice,
  Turn,
} from '../../chat/chat.ts'
import { MIN_BUDGET } from '../../chat/claude.ts'
import { textPart } from '../../chat/content.ts'
import {
  defined,
  isObject,
  type JsonObject,
  labelOf,
  listOf,
  numberOf,
  objectOf,
  requireList,
  requireObject,
  requireText,
  textOf,
} from '../../chat/json.ts'
import { Untranslatable } from '../../chat/losses.ts'
import { addExtra, cacheMark, effortOf, extrasOf, instructionsOf, readSettings, stopList } from '../../chat/settings.ts'

export const PLAIN: SettingNames = {
  maxTokens: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
}
const NAMES: SettingNames = {
  ...PLAIN,
  serviceTier: 'service_tier',
  stop: 'stop_sequences',
  reasoning: 'thinking',
  output: 'output_config',
  user: 'metadata.user_id',
  metadata: 'metadata',
  parallelTools: 'tool_choice.disable_parallel_tool_use',
}

const KNOWN = new Set([
  ...Object.values(NAMES),
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'stream',
  'metadata',
  'output_format',
])

/** Anthropic's `POST /v1/messages`. */
export function decodeRequest(body: JsonObject): Chat {
  const settings = readSettings(body, PLAIN)
  const stop = stopList(body.stop_sequences)
  if (stop) settings.stop = stop
  const reasoning = readThinking(body)
  if (reasoning) settings.reasoning = reasoning
  const format = objectOf(body.output_config).format ?? body.output_format
  const output = readOutput(format)
  if (output) settings.output = output
  const { user_id: user, ...metadata } = objectOf(body.metadata)
  if (typeof user === 'string') settings.user = user
  if (Object.keys(metadata).length > 0) settings.metadata = metadata
  const tier = textOf(body.service_tier)
  if (tier !== undefined) settings.serviceTier = tier === 'standard_only' ? 'default' : tier
  const choice = objectOf(body.tool_choice)
  if (typeof choice.disable_parallel_tool_use === 'boolean') settings.parallelTools = !choice.disable_parallel_tool_use
  const toolChoice = readToolChoice(choice)
  const extras = extrasOf(body, KNOWN)
  if (!toolChoice) addExtra(extras, 'tool_choice.type', choice.type)
  if (!reasoning) addExtra(extras, 'thinking', body.thinking)
  if (!output) addExtra(extras, 'output_config.format', format)
  return {
    from: 'messages',
    model: textOf(body.model) ?? '',
    stream: body.stream === true,
    system: readSystem(body.system, extras),
    turns: requireList(body.messages, 'messages').map((turn, i) => readTurn(turn, `messages[${i}]`)),
    tools: listOf(body.tools).map((tool, i) => readTool(tool, `tools[${i}]`)),
    ...(toolChoice ? { toolChoice } : {}),
    settings,
    names: NAMES,
    extras,
    renamed: new Map(),
  }
}

function readThinking(body: JsonObject): Reasoning | undefined {
  const thinking = objectOf(body.thinking)
  const effort = effortOf(objectOf(body.output_config).effort)
  const summary = textOf(thinking.display)
  if (thinking.type === 'enabled') {
    return defined({ budget: numberOf(thinking.budget_tokens) ?? MIN_BUDGET, effort, summary })
  }
  if (thinking.type === 'adaptive') return defined({ adaptive: true, effort, summary })
  if (thinking.type === 'disabled') return { budget: 0 }
  return effort === undefined ? undefined : { effort }
}

function readOutput(format: unknown): OutputFormat | undefined {
  if (!isObject(format) || format.type !== 'json_schema') return undefined
  return { kind: 'schema', schema: format.schema ?? {}, strict: true }
}

function readSystem(system: unknown, extras: Record<string, unknown>): TextPart[] {
  if (typeof system === 'string') return system === '' ? [] : [textPart(system, 'system')]
  const parts = listOf(system).map((value, i) => readBlock(value, `system[${i}]`))
  return instructionsOf(parts, extras)
}

function readTurn(value: unknown, at: string): Turn {
  const message = requireObject(value, at)
  const role = requireText(message.role, `${at}.role`)
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw new Untranslatable(`${at}.role`, '`user`, `assistant` and `system` are the roles')
  }
  return { role, parts: readContent(message.content, `${at}.content`), at }
}

function readContent(content: unknown, at: string): Part[] {
  if (typeof content === 'string') return [textPart(content, at)]
  return requireList(content, at).map((block, i) => readBlock(block, `${at}[${i}]`))
}

export function readBlock(value: unknown, at: string): Part {
  const block = requireObject(value, at)
  const cache = cacheMark(block.cache_control)
  switch (block.type) {
    case 'text':
      return {
        kind: 'text',
        text: requireText(block.text, `${at}.text`),
        at,
        ...cache,
        ...(listOf(block.citations).length === 0 ? {} : { citations: listOf(block.citations) }),
      }
    case 'image':
      return { kind: 'image', source: readSource(block.source, `${at}.source`), at, ...cache }
    case 'document':
      return defined({
        kind: 'document' as const,
        source: readSource(block.source, `${at}.source`),
        name: textOf(block.title),
        context: textOf(block.context) || undefined,
        citations: objectOf(block.citations).enabled === true || undefined,
        at,
        ...cache,
      })
    case 'tool_use':
      return {
        kind: 'toolCall',
        id: requireText(block.id, `${at}.id`),
        name: requireText(block.name, `${at}.name`),
        arguments: JSON.stringify(block.input ?? {}),
        at,
        ...cache,
      }
    case 'tool_result':
      return {
        kind: 'toolResult',
        id: requireText(block.tool_use_id, `${at}.tool_use_id`),
        parts: block.content === undefined ? [] : readContent(block.content, `${at}.content`),
        at,
        ...(typeof block.is_error === 'boolean' ? { error: block.is_error } : {}),
        ...cache,
      }
    case 'thinking':
      return defined({
        kind: 'reasoning' as const,
        text: textOf(block.thinking) ?? '',
        signature: textOf(block.signature) || undefined,
        at,
      })
    case 'redacted_thinking':
      return { kind: 'reasoning', text: '', redacted: requireText(block.data, `${at}.data`), at }
    default:
      return { kind: 'foreign', type: textOf(block.type) ?? 'unknown', value, at }
  }
}

function readSource(value: unknown, at: string): Source {
  const source = requireObject(value, at)
  const mediaType = textOf(source.media_type)
  switch (source.type) {
    case 'base64':
      return { kind: 'data', mediaType: mediaType ?? '', data: requireText(source.data, `${at}.data`) }
    case 'url':
      return { kind: 'url', url: requireText(source.url, `${at}.url`) }
    case 'file':
      return { kind: 'file', id: requireText(source.file_id, `${at}.file_id`) }
    case 'text':
      return { kind: 'text', text: requireText(source.data, `${at}.data`) }
    default:
      throw new Untranslatable(at, `a source of type \`${labelOf(source.type)}\` cannot be converted`)
  }
}

function readTool(value: unknown, at: string): Tool {
  const tool = requireObject(value, at)
  if (tool.type !== undefined && tool.type !== 'custom') {
    return { name: textOf(tool.name) ?? labelOf(tool.type), at, foreign: labelOf(tool.type) }
  }
  return defined({
    name: requireText(tool.name, `${at}.name`),
    description: textOf(tool.description),
    schema: tool.input_schema,
    strict: typeof tool.strict === 'boolean' ? tool.strict : undefined,
    at,
    ...cacheMark(tool.cache_control),
  })
}

function readToolChoice({ type, name }: JsonObject): ToolChoice | undefined {
  if (type === 'auto' || type === 'none') return { mode: type }
  if (type === 'any') return { mode: 'required' }
  return type === 'tool' && typeof name === 'string' ? { mode: 'tool', name } : undefined
}
