import type {
  CacheMark,
  Chat,
  OutputFormat,
  Part,
  ReasoningPart,
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
import { addExtra, effortOf, extrasOf, instructionsOf, readSettings, stopList } from '../../chat/settings.ts'
import { mediaTypeOf } from './documents.ts'

export const PLAIN: SettingNames = { maxTokens: 'maxTokens', temperature: 'temperature', topP: 'topP' }
const NAMES: SettingNames = {
  maxTokens: 'inferenceConfig.maxTokens',
  temperature: 'inferenceConfig.temperature',
  topP: 'inferenceConfig.topP',
  stop: 'inferenceConfig.stopSequences',
  topK: 'additionalModelRequestFields.top_k',
  reasoning: 'additionalModelRequestFields.thinking',
  output: 'outputConfig',
  metadata: 'requestMetadata',
}

const KNOWN = new Set([
  'messages',
  'system',
  'inferenceConfig',
  'toolConfig',
  'outputConfig',
  'additionalModelRequestFields',
  'requestMetadata',
  'modelId',
  'model',
  'stream',
])

/** Bedrock's `Converse`; model and `stream` are in the path. */
export function decodeRequest(body: JsonObject): Chat {
  const config = objectOf(body.inferenceConfig)
  const more = objectOf(body.additionalModelRequestFields)
  const settings = readSettings(config, PLAIN)
  const stop = stopList(config.stopSequences)
  if (stop) settings.stop = stop
  // Amazon's own models have it a level deeper.
  const topK = numberOf(more.top_k) ?? numberOf(objectOf(more.inferenceConfig).topK)
  if (topK !== undefined) settings.topK = topK
  const thinking = objectOf(more.thinking ?? more.reasoning_config)
  const effort = effortOf(objectOf(more.output_config).effort)
  const budget = thinking.type === 'enabled' ? numberOf(thinking.budget_tokens) : undefined
  const adaptive = thinking.type === 'adaptive' || undefined
  const summary = textOf(thinking.display)
  if (budget !== undefined || adaptive || effort) settings.reasoning = defined({ budget, adaptive, effort, summary })
  const output = readOutput(body.outputConfig)
  if (output) settings.output = output
  if (isObject(body.requestMetadata)) settings.metadata = body.requestMetadata
  const { tools, toolChoice } = objectOf(body.toolConfig)
  const choice = readToolChoice(objectOf(toolChoice))
  const extras = extrasOf(body, KNOWN)
  if (!choice) addExtra(extras, 'toolConfig.toolChoice', toolChoice)
  return {
    from: 'converse',
    model: textOf(body.modelId) ?? '',
    stream: false,
    system: instructionsOf(readBlocks(body.system, 'system'), extras),
    turns: requireList(body.messages, 'messages').map((value, i) => {
      const at = `messages[${i}]`
      const message = requireObject(value, at)
      return { role: roleOf(message.role, at), parts: readBlocks(message.content, `${at}.content`), at }
    }),
    tools: readTools(listOf(tools)),
    ...(choice ? { toolChoice: choice } : {}),
    settings,
    names: NAMES,
    extras,
    renamed: new Map(),
  }
}

function roleOf(role: unknown, at: string): 'assistant' | 'user' {
  if (role === 'assistant' || role === 'user') return role
  throw new Untranslatable(`${at}.role`, `there is no role \`${labelOf(role)}\``)
}

function readOutput(value: unknown): OutputFormat | undefined {
  const format = objectOf(objectOf(value).textFormat)
  const { schema, name, description } = objectOf(objectOf(format.structure).jsonSchema)
  if (typeof schema !== 'string') return undefined
  try {
    return defined({
      kind: 'schema' as const,
      schema: JSON.parse(schema),
      name: textOf(name),
      description: textOf(description),
    })
  } catch {
    throw new Untranslatable('outputConfig.textFormat.structure.jsonSchema.schema', 'is not JSON')
  }
}

function readToolChoice(choice: JsonObject): ToolChoice | undefined {
  if (isObject(choice.auto)) return { mode: 'auto' }
  if (isObject(choice.any)) return { mode: 'required' }
  const name = textOf(objectOf(choice.tool).name)
  return name === undefined ? undefined : { mode: 'tool', name }
}

function readTools(list: readonly unknown[]): Tool[] {
  const tools: Tool[] = []
  for (const [i, value] of list.entries()) {
    const at = `toolConfig.tools[${i}]`
    const { toolSpec, cachePoint, ...other } = objectOf(value)
    const [kind = 'tool'] = Object.keys(other)
    const last = tools.length - 1
    if (cachePoint !== undefined) {
      if (last >= 0) tools[last] = { ...(tools[last] as Tool), cache: cacheAt(cachePoint, at) }
    } else if (isObject(toolSpec)) tools.push(readTool(toolSpec, at))
    else tools.push({ name: kind, foreign: kind, at })
  }
  return tools
}

function readTool({ name, description, inputSchema, strict }: JsonObject, at: string): Tool {
  return defined({
    name: requireText(name, `${at}.toolSpec.name`),
    description: textOf(description),
    schema: objectOf(inputSchema).json,
    strict: typeof strict === 'boolean' ? strict : undefined,
    at,
  })
}

/** A cache point is a block of its own, and marks what is before it. */
function cacheAt(point: unknown, at: string): CacheMark {
  const ttl = textOf(objectOf(point).ttl)
  return { ...(ttl === undefined ? {} : { ttl }), at: `${at}.cachePoint` }
}

const MARKED = new Set<Part['kind']>(['text', 'image', 'document', 'toolCall', 'toolResult'])

/** The blocks of a request. */
function readBlocks(content: unknown, at: string): Part[] {
  const parts: Part[] = []
  for (const [i, value] of listOf(content).entries()) {
    const path = `${at}[${i}]`
    const block = objectOf(value)
    const last = parts.at(-1)
    if (block.cachePoint === undefined) parts.push(...readBlock(block, path))
    else if (last && MARKED.has(last.kind))
      parts[parts.length - 1] = { ...last, cache: cacheAt(block.cachePoint, path) } as Part
  }
  return parts
}

/** A block of a request or response. */
export function readBlock(block: JsonObject, at: string): Part[] {
  if (typeof block.text === 'string') return [textPart(block.text, at)]
  if (isObject(block.toolUse)) {
    const { toolUseId, name, input } = block.toolUse
    return [
      {
        kind: 'toolCall',
        id: requireText(toolUseId, `${at}.toolUse.toolUseId`),
        name: requireText(name, `${at}.toolUse.name`),
        arguments: JSON.stringify(input ?? {}),
        at,
      },
    ]
  }
  if (isObject(block.toolResult)) {
    const { toolUseId, content, status } = block.toolResult
    return [
      {
        kind: 'toolResult',
        id: requireText(toolUseId, `${at}.toolResult.toolUseId`),
        parts: listOf(content).flatMap((each, i) => readResultBlock(objectOf(each), `${at}.toolResult.content[${i}]`)),
        at,
        ...(status === undefined ? {} : { error: status === 'error' }),
      },
    ]
  }
  if (isObject(block.reasoningContent)) return [readReasoning(block.reasoningContent, at)]
  if (isObject(block.image)) {
    const { format, source } = block.image
    return [{ kind: 'image', source: readSource(objectOf(source), `image/${textOf(format) ?? 'png'}`, at), at }]
  }
  if (isObject(block.document)) {
    const { format, source, name } = block.document
    const { context, citations } = block.document
    return [
      defined({
        kind: 'document' as const,
        source: readSource(objectOf(source), mediaTypeOf(textOf(format)), at),
        name: textOf(name),
        context: textOf(context) || undefined,
        citations: objectOf(citations).enabled === true || undefined,
        at: `${at}.document`,
      }),
    ]
  }
  if (isObject(block.citationsContent)) {
    const { content, citations } = block.citationsContent
    const text = listOf(content).map(each => textOf(objectOf(each).text) ?? '')
    return [{ kind: 'text', text: text.join(''), at, citations: listOf(citations) }]
  }
  // The guardrail looks at this one only; the model reads it all the same.
  const guarded = textOf(objectOf(objectOf(block.guardContent).text).text)
  if (guarded !== undefined) return [textPart(guarded, at)]
  return [{ kind: 'foreign', type: Object.keys(block)[0] ?? 'block', value: block, at }]
}

function readResultBlock(block: JsonObject, at: string): Part[] {
  return block.json === undefined ? readBlock(block, at) : [textPart(JSON.stringify(block.json), at)]
}

function readReasoning(value: JsonObject, at: string): ReasoningPart {
  const redacted = textOf(value.redactedContent)
  if (redacted !== undefined) return { kind: 'reasoning', text: '', redacted, at }
  const { text, signature } = objectOf(value.reasoningText)
  return defined({ kind: 'reasoning', text: textOf(text) ?? '', signature: textOf(signature) || undefined, at })
}

function readSource({ bytes, text, s3Location }: JsonObject, mediaType: string, at: string): Source {
  if (typeof text === 'string') return { kind: 'text', text }
  if (s3Location !== undefined) throw new Untranslatable(at, 'only Bedrock reads from S3; send the content')
  return { kind: 'data', mediaType, data: requireText(bytes, `${at}.source.bytes`) }
}
