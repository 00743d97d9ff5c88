import type {
  Chat,
  OutputFormat,
  Part,
  Reasoning,
  ReasoningPart,
  Role,
  SettingNames,
  Source,
  TextPart,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResultPart,
  Turn,
} from '../../chat/chat.ts'
import { sourceOf, textPart } from '../../chat/content.ts'
import {
  defined,
  isObject,
  type JsonObject,
  labelOf,
  listOf,
  objectOf,
  requireList,
  requireObject,
  requireText,
  textOf,
} from '../../chat/json.ts'
import { Untranslatable } from '../../chat/losses.ts'
import { addExtra, cacheMark, effortOf, extrasOf, instructionsOf, readSettings } from '../../chat/settings.ts'

export const PLAIN: SettingNames = {
  maxTokens: 'max_output_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topLogprobs: 'top_logprobs',
  parallelTools: 'parallel_tool_calls',
  user: 'user',
  metadata: 'metadata',
  serviceTier: 'service_tier',
  cacheKey: 'prompt_cache_key',
  cacheRetention: 'prompt_cache_retention',
  safetyId: 'safety_identifier',
}
/** The `include` value for log probabilities. */
export const LOGPROBS = 'message.output_text.logprobs'
const NAMES: SettingNames = {
  ...PLAIN,
  logprobs: 'include',
  reasoning: 'reasoning',
  output: 'text.format',
  verbosity: 'text.verbosity',
}
/** Read on their own, or without effect on the response that a client waits for. */
const IDLE = ['include', 'truncation', 'background', 'stream_options']
/** What of `include` is answered, or has nothing to add. */
const INCLUDED: readonly unknown[] = [LOGPROBS, 'reasoning.encrypted_content']

const KNOWN = new Set([
  ...Object.values(PLAIN),
  ...IDLE,
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'reasoning',
  'text',
  'stream',
  'previous_response_id',
  'conversation',
  'prompt',
])
/** References to the provider's storage: dropping them would lose part of the conversation. */
const STORED = ['previous_response_id', 'conversation', 'prompt'] as const

/** OpenAI's `POST /v1/responses`. */
export function decodeRequest(body: JsonObject): Chat {
  for (const name of STORED) {
    if (body[name] !== undefined && body[name] !== null) {
      throw new Untranslatable(name, 'refers to what is stored at OpenAI: send the whole conversation as `input`')
    }
  }
  if (body.background === true)
    throw new Untranslatable('background', 'the provider cannot run requests in the background')
  const settings = readSettings(body, PLAIN)
  if (settings.topLogprobs || listOf(body.include).includes(LOGPROBS)) settings.logprobs = true
  const reasoning = readReasoning(body.reasoning)
  if (reasoning) settings.reasoning = reasoning
  const { format, verbosity } = objectOf(body.text)
  const output = readOutput(format)
  if (output) settings.output = output
  if (typeof verbosity === 'string') settings.verbosity = verbosity
  const toolChoice = readToolChoice(body.tool_choice)
  const instructions = textOf(body.instructions)
  const extras = extrasOf(body, KNOWN)
  if (body.truncation === 'auto') extras.truncation = body.truncation
  for (const [i, each] of listOf(body.include).entries()) if (!INCLUDED.includes(each)) extras[`include[${i}]`] = each
  if (!toolChoice) addExtra(extras, 'tool_choice', body.tool_choice)
  if (!output && objectOf(format).type !== 'text') addExtra(extras, 'text.format', format)
  if (!reasoning?.effort) addExtra(extras, 'reasoning.effort', objectOf(body.reasoning).effort)
  const { system, turns } = readInput(body.input, extras)
  return {
    from: 'responses',
    model: textOf(body.model) ?? '',
    stream: body.stream === true,
    system: instructions ? [textPart(instructions, 'instructions'), ...system] : system,
    turns,
    tools: listOf(body.tools).map((tool, i) => readTool(tool, `tools[${i}]`)),
    ...(toolChoice ? { toolChoice } : {}),
    settings,
    names: NAMES,
    extras,
    renamed: new Map(),
  }
}

function readReasoning(value: unknown): Reasoning | undefined {
  if (!isObject(value)) return undefined
  const effort = effortOf(value.effort)
  const summary = textOf(value.summary)
  return effort === undefined && summary === undefined ? undefined : defined({ effort, summary })
}

function readOutput(format: unknown): OutputFormat | undefined {
  if (!isObject(format)) return undefined
  if (format.type === 'json_object') return { kind: 'json' }
  if (format.type !== 'json_schema') return undefined
  return defined({
    kind: 'schema' as const,
    schema: format.schema ?? {},
    name: textOf(format.name),
    description: textOf(format.description),
    strict: typeof format.strict === 'boolean' ? format.strict : undefined,
  })
}

function readInput(input: unknown, extras: Record<string, unknown>): { system: TextPart[]; turns: Turn[] } {
  if (typeof input === 'string') {
    return { system: [], turns: [{ role: 'user', parts: [textPart(input, 'input')], at: 'input' }] }
  }
  const system: TextPart[] = []
  const turns: Turn[] = []
  for (const [i, value] of requireList(input, 'input').entries()) {
    const at = `input[${i}]`
    const { role, parts } = readItem(requireObject(value, at), at)
    if (role === 'system' && turns.length === 0) system.push(...instructionsOf(parts, extras))
    else add(turns, role, parts, at)
  }
  return { system, turns }
}

/** Consecutive items of one speaker form a turn: a call belongs to the text and reasoning before it. */
function add(turns: Turn[], role: Role, parts: readonly Part[], at: string): void {
  const last = turns.at(-1)
  if (role === 'assistant' && last?.role === 'assistant') last.parts.push(...parts)
  else if (parts.length > 0) turns.push({ role, parts: [...parts], at })
}

function readItem(item: JsonObject, at: string): { role: Role; parts: Part[] } {
  switch (item.type) {
    case undefined:
    case 'message': {
      const role = requireText(item.role, `${at}.role`)
      if (!Object.hasOwn(ROLES, role)) throw new Untranslatable(`${at}.role`, `there is no role \`${role}\``)
      return { role: ROLES[role] as Role, parts: readContent(item.content, `${at}.content`) }
    }
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [readCall(item, at)] }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'user', parts: [readResult(item, at)] }
    case 'reasoning':
      return { role: 'assistant', parts: [readReasoningItem(item, at)] }
    case 'item_reference':
      throw new Untranslatable(at, 'refers to what is stored at OpenAI: send the item itself')
    default:
      return { role: 'assistant', parts: [{ kind: 'foreign', type: textOf(item.type) ?? 'unknown', value: item, at }] }
  }
}

const ROLES: Readonly<Record<string, Role>> = {
  user: 'user',
  assistant: 'assistant',
  system: 'system',
  developer: 'system',
}

function readContent(content: unknown, at: string): Part[] {
  if (typeof content === 'string') return [textPart(content, at)]
  return requireList(content, at).map((part, i) => readPart(requireObject(part, `${at}[${i}]`), `${at}[${i}]`))
}

function readPart(part: JsonObject, at: string): Part {
  const cache = cacheMark(part.prompt_cache_breakpoint)
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text': {
      const citations = listOf(part.annotations)
      const text = requireText(part.text, `${at}.text`)
      return { kind: 'text', text, at, ...cache, ...(citations.length === 0 ? {} : { citations }) }
    }
    case 'refusal':
      return { kind: 'refusal', text: requireText(part.refusal, `${at}.refusal`), at }
    case 'input_image': {
      const file = textOf(part.file_id)
      const detail = textOf(part.detail)
      const source: Source = file
        ? { kind: 'file', id: file }
        : sourceOf(requireText(part.image_url, `${at}.image_url`))
      return { kind: 'image', source, at, ...(detail === undefined ? {} : { detail }), ...cache }
    }
    case 'input_file':
      return defined({
        kind: 'document' as const,
        source: fileSource(part, at),
        name: textOf(part.filename),
        at,
        ...cache,
      })
    case 'input_audio': {
      const { format, data } = objectOf(part.input_audio)
      const mediaType = format === 'mp3' ? 'audio/mpeg' : `audio/${textOf(format) ?? 'wav'}`
      return { kind: 'audio', mediaType, data: requireText(data, `${at}.input_audio.data`), at }
    }
    default:
      return { kind: 'foreign', type: textOf(part.type) ?? 'unknown', value: part, at }
  }
}

function fileSource(part: JsonObject, at: string): Source {
  const id = textOf(part.file_id)
  if (id !== undefined) return { kind: 'file', id }
  const url = textOf(part.file_url)
  if (url !== undefined) return sourceOf(url)
  const given = sourceOf(requireText(part.file_data, `${at}.file_data`))
  return given.kind === 'url' ? { kind: 'data', mediaType: '', data: given.url } : given
}

export function readCall(item: JsonObject, at: string): ToolCallPart {
  const custom = item.type === 'custom_tool_call'
  return {
    kind: 'toolCall',
    id: textOf(item.call_id) ?? requireText(item.id, `${at}.call_id`),
    name: requireText(item.name, `${at}.name`),
    arguments: textOf(custom ? item.input : item.arguments) ?? '',
    at,
    ...(custom ? { custom } : {}),
  }
}

function readResult(item: JsonObject, at: string): ToolResultPart {
  const { output } = item
  const custom = item.type === 'custom_tool_call_output'
  return {
    kind: 'toolResult',
    id: textOf(item.call_id) ?? requireText(item.id, `${at}.call_id`),
    parts: typeof output === 'string' ? [textPart(output, `${at}.output`)] : readContent(output ?? [], `${at}.output`),
    at,
    ...(item.status === 'incomplete' ? { error: true } : {}),
    ...(custom ? { custom } : {}),
  }
}

/** `encrypted_content` carries another provider's signature, or, without text, its encrypted reasoning. */
export function readReasoningItem(item: JsonObject, at: string): ReasoningPart {
  const texts = [...listOf(item.content), ...(listOf(item.content).length === 0 ? listOf(item.summary) : [])]
  const text = texts.map(each => textOf(objectOf(each).text) ?? '').join('\n\n')
  const encrypted = textOf(item.encrypted_content)
  const id = textOf(item.id)
  if (text === '' && encrypted !== undefined) return defined({ kind: 'reasoning', text, redacted: encrypted, id, at })
  return defined({ kind: 'reasoning', text, signature: encrypted, id, at })
}

function readTool(value: unknown, at: string): Tool {
  const tool = requireObject(value, at)
  if (tool.type !== 'function' && tool.type !== 'custom') {
    return { name: textOf(tool.name) ?? labelOf(tool.type), foreign: labelOf(tool.type), at }
  }
  const custom = tool.type === 'custom'
  return defined({
    name: requireText(tool.name, `${at}.name`),
    description: textOf(tool.description),
    schema: (custom ? tool.format : tool.parameters) ?? undefined,
    strict: typeof tool.strict === 'boolean' ? tool.strict : undefined,
    custom: custom || undefined,
    at,
  })
}

function readToolChoice(choice: unknown): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'required' || choice === 'none') return { mode: choice }
  if (!isObject(choice)) return undefined
  if (choice.type === 'allowed_tools') {
    const names = listOf(choice.tools).flatMap(tool => textOf(objectOf(tool).name) ?? [])
    return { mode: 'some', names, required: choice.mode === 'required' }
  }
  const name = textOf(choice.name)
  return name === undefined ? undefined : { mode: 'tool', name, ...(choice.type === 'custom' ? { custom: true } : {}) }
}
