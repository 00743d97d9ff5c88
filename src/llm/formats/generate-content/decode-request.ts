import type {
  Chat,
  OutputFormat,
  Part,
  Reasoning,
  Role,
  SettingNames,
  Source,
  Tool,
  ToolChoice,
} from '../../chat/chat.ts'
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
import { addExtra, extrasOf, instructionsOf, readSettings, stopList } from '../../chat/settings.ts'
import { SIZES } from './schema.ts'

export const PLAIN: SettingNames = {
  maxTokens: 'maxOutputTokens',
  temperature: 'temperature',
  topP: 'topP',
  topK: 'topK',
  seed: 'seed',
  frequencyPenalty: 'frequencyPenalty',
  presencePenalty: 'presencePenalty',
  choices: 'candidateCount',
  logprobs: 'responseLogprobs',
  topLogprobs: 'logprobs',
}
const NAMES = Object.fromEntries(
  Object.entries({ ...PLAIN, stop: 'stopSequences', reasoning: 'thinkingConfig', output: 'responseSchema' }).map(
    ([setting, name]) => [setting, `generationConfig.${name}`],
  ),
) as SettingNames

const KNOWN = new Set(['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig', 'model', 'stream'])

/** Google's `models/{model}:generateContent`; model and `stream` are in the path. */
export function decodeRequest(body: JsonObject): Chat {
  const config = objectOf(body.generationConfig)
  const settings = readSettings(config, PLAIN)
  const stop = stopList(config.stopSequences)
  if (stop) settings.stop = stop
  const reasoning = readThinking(config.thinkingConfig)
  if (reasoning) settings.reasoning = reasoning
  const output = readOutput(config)
  if (output) settings.output = output
  const calling = objectOf(objectOf(body.toolConfig).functionCallingConfig)
  const toolChoice = readToolChoice(calling)
  const calls = new CallIds()
  const extras = extrasOf(body, KNOWN)
  // Calls that must match their schemas are something that others do not tell apart from any.
  if (!toolChoice || calling.mode === 'VALIDATED')
    addExtra(extras, 'toolConfig.functionCallingConfig.mode', calling.mode)
  const { responseMimeType: type } = config
  if (type !== 'application/json' && type !== 'text/plain') addExtra(extras, 'generationConfig.responseMimeType', type)
  const system = listOf(objectOf(body.systemInstruction).parts).map((part, i) =>
    readPart(objectOf(part), `systemInstruction.parts[${i}]`, calls),
  )
  return {
    from: 'generateContent',
    model: textOf(body.model) ?? '',
    stream: false,
    system: instructionsOf(system, extras).filter(({ text }) => text !== ''),
    turns: requireList(body.contents, 'contents').map((value, i) => {
      const at = `contents[${i}]`
      const content = requireObject(value, at)
      const parts = listOf(content.parts).map((part, p) => readPart(objectOf(part), `${at}.parts[${p}]`, calls))
      return { role: roleOf(content.role, at), parts, at }
    }),
    tools: listOf(body.tools).flatMap((tool, i) => readTools(objectOf(tool), `tools[${i}]`)),
    ...(toolChoice ? { toolChoice } : {}),
    settings,
    names: NAMES,
    extras,
    renamed: new Map(),
  }
}

function roleOf(role: unknown, at: string): Role {
  if (role === 'model') return 'assistant'
  if (role !== undefined && role !== 'user' && role !== 'function')
    throw new Untranslatable(`${at}.role`, `there is no role \`${labelOf(role)}\``)
  return 'user'
}

/** Gemini identifies calls by name and order; other formats require an id for each. */
export class CallIds {
  readonly #prefix: string
  readonly #open = new Map<string, string[]>()
  #count = 0

  constructor(prefix = 'call') {
    this.#prefix = prefix
  }

  call(name: string, own: string | undefined): string {
    const id = own ?? `${this.#prefix}_${this.#count}`
    this.#count++
    const open = this.#open.get(name)
    if (open) open.push(id)
    else this.#open.set(name, [id])
    return id
  }

  /** The first unanswered call with that name. */
  answer(name: string, own: string | undefined): string {
    return own ?? this.#open.get(name)?.shift() ?? `${this.#prefix}_${name}`
  }
}

function readThinking(value: unknown): Reasoning | undefined {
  if (!isObject(value)) return undefined
  const level = textOf(value.thinkingLevel)?.toLowerCase()
  const effort = (['minimal', 'low', 'medium', 'high'] as const).find(each => each === level)
  const budget = numberOf(value.thinkingBudget)
  const summary = value.includeThoughts === true ? 'auto' : undefined
  if (budget === -1) return defined({ adaptive: true, summary })
  return effort === undefined && budget === undefined && summary === undefined
    ? undefined
    : defined({ effort, budget, summary })
}

function readOutput(config: JsonObject): OutputFormat | undefined {
  if (config.responseMimeType === 'text/x.enum') return undefined
  const schema = config.responseJsonSchema ?? lowerTypes(config.responseSchema)
  if (schema !== undefined) return { kind: 'schema', schema }
  return config.responseMimeType === 'application/json' ? { kind: 'json' } : undefined
}

function readTools(tool: JsonObject, at: string): Tool[] {
  const declared = listOf(tool.functionDeclarations).map((value, i) => {
    const path = `${at}.functionDeclarations[${i}]`
    const { name, description, parameters, parametersJsonSchema } = requireObject(value, path)
    return defined({
      name: requireText(name, `${path}.name`),
      description: textOf(description),
      schema: parametersJsonSchema ?? lowerTypes(parameters),
      at: path,
    })
  })
  const others = Object.keys(tool).filter(name => name !== 'functionDeclarations')
  return [...declared, ...others.map(name => ({ name, foreign: name, at: `${at}.${name}` }))]
}

/** Gemini writes types as `STRING` and sizes as text, unlike JSON Schema. */
function lowerTypes(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(lowerTypes)
  if (!isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (typeof value !== 'string') return [key, lowerTypes(value)]
      return [key, key === 'type' ? value.toLowerCase() : isSize(key) ? Number(value) : value]
    }),
  )
}

function isSize(name: string): boolean {
  return (SIZES as readonly string[]).includes(name)
}

function readToolChoice({ mode, allowedFunctionNames }: JsonObject): ToolChoice | undefined {
  const names = listOf(allowedFunctionNames).filter(name => typeof name === 'string')
  if (mode === 'NONE') return { mode: 'none' }
  if (mode === 'AUTO' || mode === 'VALIDATED')
    return names.length === 0 ? { mode: 'auto' } : { mode: 'some', names, required: false }
  if (mode !== 'ANY') return undefined
  const [only] = names
  if (names.length === 1 && only !== undefined) return { mode: 'tool', name: only }
  return names.length === 0 ? { mode: 'required' } : { mode: 'some', names, required: true }
}

/** One part of a request or response. */
export function readPart(part: JsonObject, at: string, calls: CallIds): Part {
  const signature = textOf(part.thoughtSignature)
  const signed = signature === undefined ? {} : { signature }
  if (typeof part.text === 'string') {
    return part.thought === true
      ? { kind: 'reasoning', text: part.text, at, ...signed }
      : { kind: 'text', text: part.text, at, ...signed }
  }
  if (isObject(part.functionCall)) {
    const name = requireText(part.functionCall.name, `${at}.functionCall.name`)
    const id = calls.call(name, textOf(part.functionCall.id))
    return { kind: 'toolCall', id, name, arguments: JSON.stringify(part.functionCall.args ?? {}), at, ...signed }
  }
  if (isObject(part.functionResponse)) {
    const name = requireText(part.functionResponse.name, `${at}.functionResponse.name`)
    const id = calls.answer(name, textOf(part.functionResponse.id))
    const { parts, ...rest } = readResponse(objectOf(part.functionResponse.response), at)
    const shown = listOf(part.functionResponse.parts).map((each, i) =>
      readPart(objectOf(each), `${at}.functionResponse.parts[${i}]`, calls),
    )
    return { kind: 'toolResult', id, name, parts: [...parts, ...shown], ...rest, at }
  }
  const inline = part.inlineData
  if (isObject(inline)) return readMedia({ kind: 'data', ...mediaOf(inline), data: textOf(inline.data) ?? '' }, at)
  const file = part.fileData
  if (isObject(file)) return readMedia({ kind: 'url', url: textOf(file.fileUri) ?? '', ...mediaOf(file) }, at)
  return { kind: 'foreign', type: Object.keys(part)[0] ?? 'part', value: part, at }
}

function readResponse(response: JsonObject, at: string): { parts: Part[]; error?: boolean } {
  const [only] = Object.keys(response)
  const plain = Object.keys(response).length === 1 && typeof response[only as string] === 'string'
  const text = plain && (only === 'content' || only === 'output' || only === 'error' || only === 'result')
  return {
    parts: [
      textPart(text ? labelOf(response[only as string]) : JSON.stringify(response), `${at}.functionResponse.response`),
    ],
    ...(only === 'error' ? { error: true } : {}),
  }
}

function mediaOf({ mimeType }: JsonObject): { mediaType: string } {
  return { mediaType: textOf(mimeType) ?? '' }
}

function readMedia(source: Extract<Source, { mediaType?: string }>, at: string): Part {
  const mediaType = source.mediaType ?? ''
  if (mediaType.startsWith('audio/') && source.kind === 'data')
    return { kind: 'audio', mediaType, data: source.data, at }
  return mediaType.startsWith('image/') ? { kind: 'image', source, at } : { kind: 'document', source, at }
}
