import type {
  CacheMark,
  Chat,
  DocumentPart,
  ImagePart,
  OutputFormat,
  Part,
  ReasoningPart,
  Setting,
  TextPart,
  Tool,
  ToolCallPart,
  ToolResultPart,
} from '../../chat/chat.ts'
import { thinkingFor, withoutSampling } from '../../chat/claude.ts'
import { argumentsFor, dropCitations, dropPart, isBlank, schemaFor } from '../../chat/content.ts'
import { defined, isObject, type JsonObject, labelOf } from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'
import {
  allInstructions,
  loseDetails,
  loseExtras,
  loseNames,
  portableTools,
  stopsFor,
  writeSettings,
} from '../../chat/settings.ts'
import { PLAIN } from './decode-request.ts'
import { DocumentNames, documentFormat } from './documents.ts'

const MAX_TOKENS = 4096
/** Settings with a place of their own. */
const WRITTEN = ['maxTokens', 'topK', 'metadata', 'user', 'parallelTools'] as const
const MAX_STOPS = 4
/** The service's limit on cache points. */
const MAX_CACHE_POINTS = 4
/** A history with calls requires tools; the model must not call this one. */
const PLACEHOLDER_TOOL = 'gwctl_placeholder_do_not_call'

export function encodeRequest(chat: Chat, losses: Losses): JsonObject {
  const writer = new ConverseWriter(chat, losses)
  return writer.body()
}

class ConverseWriter {
  readonly #chat: Chat
  readonly #losses: Losses
  readonly #documents = new DocumentNames()
  #cachePoints = 0

  constructor(chat: Chat, losses: Losses) {
    this.#chat = chat
    this.#losses = losses
  }

  body(): JsonObject {
    const chat = this.#chat
    const tools = portableTools(chat, this.#losses)
    const system = this.#system()
    const messages = this.#messages()
    const maxTokens = chat.settings.maxTokens ?? MAX_TOKENS
    const thinks = thinkingFor(chat, maxTokens, this.#losses)
    const refused = withoutSampling(chat, thinks !== undefined, this.#losses)
    const inferenceConfig = this.#inference(maxTokens, refused)
    const topK = refused.includes('topK') ? undefined : chat.settings.topK
    const more = defined({
      thinking: thinks?.thinking,
      output_config: thinks?.effort ? { effort: thinks.effort } : undefined,
      top_k: topK,
    })
    const body = defined({
      messages,
      system: system.length === 0 ? undefined : system,
      inferenceConfig,
      toolConfig: this.#tools(tools, messages, thinks !== undefined),
      outputConfig: chat.settings.output && this.#output(chat.settings.output),
      additionalModelRequestFields: Object.keys(more).length === 0 ? undefined : more,
      requestMetadata: this.#metadata(),
    })
    loseNames(chat, this.#losses)
    loseDetails(chat, this.#losses)
    loseExtras(chat, this.#losses)
    return body
  }

  #system(): JsonObject[] {
    return allInstructions(this.#chat, this.#losses).flatMap(part => this.#text(part))
  }

  /** Consecutive turns of one role become one message. */
  #messages(): JsonObject[] {
    const messages: { role: string; content: JsonObject[] }[] = []
    for (const { role, parts } of this.#chat.turns) {
      if (role === 'system') continue
      const reasoned = [...parts].sort((a, b) => Number(b.kind === 'reasoning') - Number(a.kind === 'reasoning'))
      const content = (role === 'assistant' ? reasoned : parts).flatMap(part => this.#part(part))
      const last = messages.at(-1)
      if (last?.role === role) last.content.push(...content)
      else if (content.length > 0) messages.push({ role, content })
    }
    return messages
  }

  #inference(maxTokens: number, refused: readonly Setting[]): JsonObject {
    const { settings } = this.#chat
    const config: JsonObject = { maxTokens }
    writeSettings(this.#chat, PLAIN, config, this.#losses, [...WRITTEN, ...refused])
    const stops = stopsFor(this.#chat, MAX_STOPS, this.#losses)
    if (stops?.length) config.stopSequences = stops
    if (settings.parallelTools === false) {
      this.#losses.drop(this.#chat.names.parallelTools ?? 'parallelTools')
    }
    return config
  }

  /** The service accepts only strings, and no end user. */
  #metadata(): JsonObject | undefined {
    const { metadata, user } = this.#chat.settings
    if (user !== undefined) this.#losses.drop(this.#chat.names.user ?? 'user', 'an end user')
    if (!isObject(metadata)) return undefined
    const texts = Object.entries(metadata).filter(([, value]) => typeof value !== 'object')
    return texts.length === 0 ? undefined : Object.fromEntries(texts.map(([name, value]) => [name, labelOf(value)]))
  }

  #output(output: OutputFormat): JsonObject {
    const open = { type: 'object', additionalProperties: true }
    const named = output.kind === 'schema' ? output : { schema: open, name: undefined, description: undefined }
    const jsonSchema = defined({
      schema: JSON.stringify(named.schema),
      name: named.name ?? 'structured_output',
      description: named.description,
    })
    return { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
  }

  #tools(tools: readonly Tool[], messages: readonly JsonObject[], thinking: boolean): JsonObject | undefined {
    const specs: JsonObject[] = tools.flatMap(tool => [this.#tool(tool), ...this.#cache(tool.cache, tool.at)])
    if (specs.length === 0) {
      const called = messages.some(({ content }) =>
        (content as JsonObject[]).some(block => block.toolUse !== undefined || block.toolResult !== undefined),
      )
      if (!called) return undefined
      return { tools: [{ toolSpec: { name: PLACEHOLDER_TOOL, inputSchema: { json: { type: 'object' } } } }] }
    }
    return defined({ tools: specs, toolChoice: this.#choice(thinking) })
  }

  #tool(tool: Tool): JsonObject {
    const { name, description } = tool
    const inputSchema = { json: schemaFor(tool) }
    return { toolSpec: defined({ name, description: description || undefined, inputSchema }) }
  }

  #choice(thinking: boolean): JsonObject | undefined {
    const { toolChoice } = this.#chat
    if (toolChoice === undefined) return undefined
    if (toolChoice.mode === 'none') {
      this.#losses.add('tool_choice', 'Bedrock Converse cannot forbid tool calls; the model may call')
      return undefined
    }
    if (toolChoice.mode === 'auto') return { auto: {} }
    if (thinking) {
      this.#losses.add('tool_choice', 'Claude does not force tools while thinking; sent as `auto`')
      return { auto: {} }
    }
    if (toolChoice.mode === 'tool') return { tool: { name: toolChoice.name } }
    if (toolChoice.mode === 'some') {
      this.#losses.add('tool_choice', 'Bedrock Converse cannot limit the choice to some tools; all may be called')
      return toolChoice.required ? { any: {} } : { auto: {} }
    }
    return { any: {} }
  }

  #cache(cache: CacheMark | undefined, at: string): JsonObject[] {
    if (cache === undefined) return []
    if (this.#cachePoints === MAX_CACHE_POINTS) {
      this.#losses.add(`${at}.cache_control`, `Bedrock Converse takes ${MAX_CACHE_POINTS} cache points; dropped`)
      return []
    }
    this.#cachePoints++
    return [{ cachePoint: { type: 'default', ...(cache.ttl === undefined ? {} : { ttl: cache.ttl }) } }]
  }

  #text({ text, cache, at }: TextPart): JsonObject[] {
    return [{ text }, ...this.#cache(cache, at)]
  }

  #part(part: Part): JsonObject[] {
    switch (part.kind) {
      case 'text':
        dropCitations(part, this.#losses)
        return isBlank(part.text) ? [] : this.#text(part)
      case 'refusal':
        return isBlank(part.text) ? [] : [{ text: part.text }]
      case 'image':
        return [this.#image(part), ...this.#cache(part.cache, part.at)]
      case 'document':
        return [this.#document(part), ...this.#cache(part.cache, part.at)]
      case 'toolCall':
        return [this.#call(part), ...this.#cache(part.cache, part.at)]
      case 'toolResult':
        return [this.#result(part), ...this.#cache(part.cache, part.at)]
      case 'reasoning':
        return this.#reasoning(part)
      default:
        dropPart(part, this.#losses)
        return []
    }
  }

  #image({ source, at }: ImagePart): JsonObject {
    if (source.kind !== 'data' || !source.mediaType.startsWith('image/')) {
      throw new Untranslatable(at, 'Bedrock takes only the content of images, not their address; send a `data:` URL')
    }
    const format = source.mediaType.slice('image/'.length)
    return { image: { format: format === 'jpg' ? 'jpeg' : format, source: { bytes: source.data } } }
  }

  #document({ source, name, context, citations, at }: DocumentPart): JsonObject {
    const about = defined({ context, citations: citations ? { enabled: true } : undefined })
    if (source.kind === 'text') {
      return { document: { format: 'txt', name: this.#documents.of(name), source: { text: source.text }, ...about } }
    }
    if (source.kind !== 'data')
      throw new Untranslatable(at, 'Bedrock takes only the content of documents, not their address')
    const format = documentFormat(source.mediaType, name)
    if (format === undefined) throw new Untranslatable(at, 'Bedrock takes no documents of this format')
    return { document: { format, name: this.#documents.of(name), source: { bytes: source.data }, ...about } }
  }

  #call(part: ToolCallPart): JsonObject {
    return { toolUse: { toolUseId: part.id, name: part.name, input: argumentsFor(part, this.#losses) } }
  }

  #result({ id, parts, error }: ToolResultPart): JsonObject {
    const content = parts.flatMap(part => this.#part(part)).filter(block => block.cachePoint === undefined)
    return defined({
      toolResult: defined({
        toolUseId: id,
        content: content.length === 0 ? [{ text: ' ' }] : content,
        status: error === undefined ? undefined : error ? 'error' : 'success',
      }),
    })
  }

  #reasoning({ text, signature, redacted, at }: ReasoningPart): JsonObject[] {
    if (redacted !== undefined) return [{ reasoningContent: { redactedContent: redacted } }]
    if (signature !== undefined) return [{ reasoningContent: { reasoningText: { text, signature } } }]
    this.#losses.add(at, 'Bedrock rejects reasoning without its signature; dropped')
    return []
  }
}
