import type { Chat, OutputFormat, Part, Role, SettingNames, TextPart, Tool, ToolChoice, Turn } from '../../chat/chat.ts'
import { sourceOf, textPart } from '../../chat/content.ts'
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
import { googleSignature } from './members.ts'
import { readReasoning } from './reasoning.ts'

export const NAMES: SettingNames = {
  maxTokens: 'max_completion_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  stop: 'stop',
  seed: 'seed',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  choices: 'n',
  logprobs: 'logprobs',
  topLogprobs: 'top_logprobs',
  logitBias: 'logit_bias',
  parallelTools: 'parallel_tool_calls',
  reasoning: 'reasoning_effort',
  output: 'response_format',
  user: 'user',
  metadata: 'metadata',
  serviceTier: 'service_tier',
  verbosity: 'verbosity',
  cacheKey: 'prompt_cache_key',
  cacheRetention: 'prompt_cache_retention',
  safetyId: 'safety_identifier',
}

const KNOWN = new Set([
  ...Object.values(NAMES),
  'model',
  'messages',
  'tools',
  'tool_choice',
  'functions',
  'function_call',
  'stream',
  'stream_options',
  'max_tokens',
  'top_k',
  'thinking_budget_tokens',
])

/** OpenAI's `POST /chat/completions`. */
export function decodeRequest(body: JsonObject): Chat {
  const settings = readSettings(body, NAMES)
  const maxTokens = numberOf(body.max_completion_tokens) ?? numberOf(body.max_tokens)
  if (maxTokens !== undefined) settings.maxTokens = maxTokens
  const topK = numberOf(body.top_k)
  if (topK !== undefined) settings.topK = topK
  const stop = stopList(body.stop)
  if (stop) settings.stop = stop
  const effort = effortOf(body.reasoning_effort)
  const budget = numberOf(body.thinking_budget_tokens)
  if (effort !== undefined || budget !== undefined) settings.reasoning = defined({ effort, budget })
  const output = readOutput(body.response_format)
  if (output) settings.output = output
  const extras = extrasOf(body, KNOWN)
  const { system, turns } = readMessages(requireList(body.messages, 'messages'), extras)
  const choice = body.tool_choice ?? body.function_call
  const toolChoice = readToolChoice(choice)
  if (!toolChoice) addExtra(extras, 'tool_choice', choice)
  if (!output && objectOf(body.response_format).type !== 'text')
    addExtra(extras, 'response_format', body.response_format)
  if (!effort) addExtra(extras, 'reasoning_effort', body.reasoning_effort)
  return {
    from: 'completions',
    model: textOf(body.model) ?? '',
    stream: body.stream === true,
    system,
    turns,
    tools: [
      ...listOf(body.tools).flatMap((tool, i) => readTool(tool, `tools[${i}]`)),
      ...listOf(body.functions).map((tool, i) => functionTool(objectOf(tool), `functions[${i}]`)),
    ],
    ...(toolChoice ? { toolChoice } : {}),
    settings,
    names: NAMES,
    extras,
    renamed: new Map(),
  }
}

function readOutput(format: unknown): OutputFormat | undefined {
  if (!isObject(format)) return undefined
  if (format.type === 'json_object') return { kind: 'json' }
  if (format.type !== 'json_schema') return undefined
  const { schema, name, description, strict } = objectOf(format.json_schema)
  return defined({
    kind: 'schema' as const,
    schema: schema ?? {},
    name: textOf(name),
    description: textOf(description),
    strict: typeof strict === 'boolean' ? strict : undefined,
  })
}

function readMessages(
  messages: readonly unknown[],
  extras: Record<string, unknown>,
): { system: TextPart[]; turns: Turn[] } {
  const system: TextPart[] = []
  const turns: Turn[] = []
  for (const [i, value] of messages.entries()) {
    const at = `messages[${i}]`
    const message = requireObject(value, at)
    const role = requireText(message.role, `${at}.role`)
    if ((role === 'system' || role === 'developer') && turns.length === 0) {
      system.push(...instructionsOf(readContent(message.content, at), extras))
      continue
    }
    const name = role === 'tool' || role === 'function' ? undefined : textOf(message.name)
    turns.push({ role: roleOf(role, at), parts: readParts(role, message, at), at, ...(name ? { name } : {}) })
  }
  return { system, turns }
}

const ROLES: Readonly<Record<string, Role>> = {
  assistant: 'assistant',
  system: 'system',
  developer: 'system',
  user: 'user',
  tool: 'user',
  function: 'user',
}

function roleOf(role: string, at: string): Role {
  const known = Object.hasOwn(ROLES, role) ? ROLES[role] : undefined
  if (known === undefined) throw new Untranslatable(`${at}.role`, `there is no role \`${role}\``)
  return known
}

function readParts(role: string, message: JsonObject, at: string): Part[] {
  if (role === 'tool' || role === 'function') {
    const name = textOf(message.name)
    const id = textOf(message.tool_call_id) ?? (role === 'function' ? (name ?? '') : '')
    return [
      {
        kind: 'toolResult',
        id,
        ...(name === undefined ? {} : { name }),
        parts: readContent(message.content, at),
        at,
        ...cacheMark(message.cache_control),
      },
    ]
  }
  const parts = readContent(message.content, at)
  if (role !== 'assistant') return parts
  const refusal = textOf(message.refusal)
  if (refusal) parts.push({ kind: 'refusal', text: refusal, at: `${at}.refusal` })
  for (const [i, call] of listOf(message.tool_calls).entries()) parts.push(readCall(call, `${at}.tool_calls[${i}]`))
  if (isObject(message.function_call)) {
    const { name, arguments: text } = message.function_call
    const path = `${at}.function_call`
    parts.push({
      kind: 'toolCall',
      id: requireText(name, `${path}.name`),
      name: requireText(name, `${path}.name`),
      arguments: textOf(text) ?? '',
      at: path,
    })
  }
  if (isObject(message.audio)) {
    parts.push({ kind: 'foreign', type: 'audio', value: message.audio, at: `${at}.audio` })
  }
  return [...readReasoning(message, at), ...parts]
}

function readCall(value: unknown, at: string): Part {
  const call = requireObject(value, at)
  const custom = call.type === 'custom'
  const what = requireObject(custom ? call.custom : call.function, `${at}.${custom ? 'custom' : 'function'}`)
  return {
    kind: 'toolCall',
    id: textOf(call.id) ?? '',
    name: requireText(what.name, `${at}.${custom ? 'custom' : 'function'}.name`),
    arguments: textOf(custom ? what.input : what.arguments) ?? '',
    at,
    ...(custom ? { custom } : {}),
    ...googleSignature(call),
    ...cacheMark(call.cache_control),
  }
}

function readContent(content: unknown, at: string): Part[] {
  if (typeof content === 'string') return [textPart(content, `${at}.content`)]
  if (content === undefined || content === null) return []
  return requireList(content, `${at}.content`).map((part, i) => readPart(part, `${at}.content[${i}]`))
}

function readPart(value: unknown, at: string): Part {
  const part = requireObject(value, at)
  const cache = cacheMark(part.cache_control ?? part.prompt_cache_breakpoint)
  switch (part.type) {
    case 'text':
      return { kind: 'text', text: requireText(part.text, `${at}.text`), at, ...cache }
    case 'refusal':
      return { kind: 'refusal', text: requireText(part.refusal, `${at}.refusal`), at }
    case 'image_url': {
      const image = isObject(part.image_url) ? part.image_url : { url: part.image_url }
      const source = sourceOf(requireText(image.url, `${at}.image_url.url`))
      const mediaType = textOf(image.format) ?? textOf(image.mime_type) ?? textOf(image.content_type)
      const detail = textOf(image.detail)
      return {
        kind: 'image',
        source: source.kind === 'url' && mediaType ? { ...source, mediaType } : source,
        at,
        ...(detail === undefined ? {} : { detail }),
        ...cache,
      }
    }
    case 'input_audio': {
      const { format, data } = objectOf(part.input_audio)
      const mediaType = format === 'mp3' ? 'audio/mpeg' : `audio/${textOf(format) ?? 'wav'}`
      return { kind: 'audio', mediaType, data: requireText(data, `${at}.input_audio.data`), at }
    }
    case 'file':
      return readFile(objectOf(part.file), at, cache)
    default:
      return { kind: 'foreign', type: textOf(part.type) ?? 'unknown', value, at }
  }
}

function readFile(file: JsonObject, at: string, cache: ReturnType<typeof cacheMark>): Part {
  const name = textOf(file.filename)
  const id = textOf(file.file_id)
  const data = textOf(file.file_data)
  if (id === undefined && data === undefined) throw new Untranslatable(`${at}.file`, 'needs `file_data` or `file_id`')
  const given = data === undefined ? undefined : sourceOf(data)
  const source = given?.kind === 'url' ? { kind: 'data' as const, mediaType: '', data: given.url } : given
  return {
    kind: 'document',
    source: source ?? { kind: 'file', id: id as string },
    at,
    ...(name === undefined ? {} : { name }),
    ...cache,
  }
}

function readTool(value: unknown, at: string): Tool[] {
  const tool = requireObject(value, at)
  const cache = cacheMark(tool.cache_control)
  if (tool.type === 'custom') {
    const { name, description, format } = objectOf(tool.custom)
    return [
      defined({
        name: requireText(name, `${at}.custom.name`),
        description: textOf(description),
        schema: isObject(format) && isObject(format.grammar) ? { type: 'grammar', ...format.grammar } : format,
        custom: true,
        at,
        ...cache,
      }),
    ]
  }
  if (tool.type !== undefined && tool.type !== 'function')
    return [{ name: labelOf(tool.type), foreign: labelOf(tool.type), at }]
  return [{ ...functionTool(requireObject(tool.function, `${at}.function`), at), ...cache }]
}

function functionTool({ name, description, parameters, strict }: JsonObject, at: string): Tool {
  return defined({
    name: requireText(name, `${at}.name`),
    description: textOf(description),
    schema: parameters ?? undefined,
    strict: typeof strict === 'boolean' ? strict : undefined,
    at,
  })
}

function readToolChoice(choice: unknown): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'required' || choice === 'none') return { mode: choice }
  if (!isObject(choice)) return undefined
  if (choice.type === 'allowed_tools') {
    const { mode, tools } = objectOf(choice.allowed_tools)
    const names = listOf(tools).flatMap(tool => textOf(objectOf(objectOf(tool).function).name) ?? [])
    return { mode: 'some', names, required: mode === 'required' }
  }
  const custom = choice.type === 'custom'
  const name = textOf(objectOf(custom ? choice.custom : (choice.function ?? choice)).name)
  return name === undefined ? undefined : { mode: 'tool', name, ...(custom ? { custom } : {}) }
}
