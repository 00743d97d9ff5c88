import type {
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
  listOf,
  numberOf,
  objectOf,
  requireList,
  requireObject,
  requireText,
  textOf,
} from '../../chat/json.ts'
import { Untranslatable } from '../../chat/losses.ts'
import { effortOf, extrasOf, readSettings, stopList } from '../../chat/settings.ts'

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
  const topK = numberOf(more.top_k)
  if (topK !== undefined) settings.topK = topK
  const thinking = objectOf(more.thinking)
  const effort = effortOf(objectOf(more.output_config).effort)
  const budget = thinking.type === 'enabled' ? numberOf(thinking.budget_tokens) : undefined
  const adaptive = thinking.type === 'adaptive' || undefined
  if (budget !== undefined || adaptive || effort) settings.reasoning = defined({ budget, adaptive, effort })
  const output = readOutput(body.outputConfig)
  if (output) settings.output = output
  if (isObject(body.requestMetadata)) settings.metadata = body.requestMetadata
  const { tools, toolChoice } = objectOf(body.toolConfig)
  const choice = readToolChoice(objectOf(toolChoice))
  return {
    from: 'converse',
    model: textOf(body.modelId) ?? '',
    stream: false,
    system: listOf(body.system).flatMap((value, i) => {
      const text = textOf(objectOf(value).text)
      return text === undefined ? [] : [textPart(text, `system[${i}]`)]
    }),
    turns: requireList(body.messages, 'messages').map((value, i) => {
      const at = `messages[${i}]`
      const message = requireObject(value, at)
      const parts = listOf(message.content).flatMap((block, b) => readBlock(objectOf(block), `${at}.content[${b}]`))
      return { role: message.role === 'assistant' ? 'assistant' : 'user', parts, at }
    }),
    tools: listOf(tools).flatMap((tool, i) => readTool(objectOf(tool), `toolConfig.tools[${i}]`)),
    ...(choice ? { toolChoice: choice } : {}),
    settings,
    names: NAMES,
    extras: extrasOf(body, KNOWN),
    renamed: new Map(),
  }
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

function readTool({ toolSpec, cachePoint, ...other }: JsonObject, at: string): Tool[] {
  if (cachePoint !== undefined) return []
  if (!isObject(toolSpec))
    return [{ name: Object.keys(other)[0] ?? 'tool', foreign: Object.keys(other)[0] ?? 'tool', at }]
  return [
    defined({
      name: requireText(toolSpec.name, `${at}.toolSpec.name`),
      description: textOf(toolSpec.description),
      schema: objectOf(toolSpec.inputSchema).json,
      at,
    }),
  ]
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
    const mediaType = format === 'pdf' ? 'application/pdf' : `text/${textOf(format) ?? 'plain'}`
    return [
      defined({
        kind: 'document' as const,
        source: readSource(objectOf(source), mediaType, at),
        name: textOf(name),
        at,
      }),
    ]
  }
  if (isObject(block.citationsContent)) {
    const { content, citations } = block.citationsContent
    const text = listOf(content).map(each => textOf(objectOf(each).text) ?? '')
    return [{ kind: 'text', text: text.join(''), at, citations: listOf(citations) }]
  }
  if (block.cachePoint !== undefined) return []
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
  if (s3Location !== undefined) throw new Untranslatable(at, 'what lies in S3 can be read by Bedrock only')
  return { kind: 'data', mediaType, data: requireText(bytes, `${at}.source.bytes`) }
}
