import type {
  Chat,
  ImagePart,
  OutputFormat,
  Part,
  Reasoning,
  Tool,
  ToolChoice,
  ToolResultPart,
} from '../../chat/chat.ts'
import { argumentsFor, dropCitations, dropPart, joinTexts, schemaFor } from '../../chat/content.ts'
import { defined, isObject, type JsonObject } from '../../chat/json.ts'
import { type Losses, Untranslatable } from '../../chat/losses.ts'
import {
  allInstructions,
  budgetOf,
  loseCaches,
  loseDetails,
  loseDocumentContext,
  loseExtras,
  loseNames,
  portableTools,
  stopsFor,
  writeSettings,
} from '../../chat/settings.ts'
import { PLAIN } from './decode-request.ts'
import { geminiSchema } from './schema.ts'

/** Members of other formats' bodies that are native to Gemini. */
const TAKEN = [
  'safetySettings',
  'safety_settings',
  'cachedContent',
  'cached_content',
  'labels',
  'thinkingConfig',
  'thinking_config',
]

const MAX_STOPS = 5
/** Gemini 3 rejects calls without a signature; this one is for calls by another model. */
const NO_SIGNATURE = 'skip_thought_signature_validator'

export function encodeRequest(chat: Chat, losses: Losses): JsonObject {
  const { settings, extras } = chat
  const body: JsonObject = { contents: writeContents(chat, losses) }
  const system = allInstructions(chat, losses)
  if (system.length > 0) body.systemInstruction = { parts: [{ text: joinTexts(system, '\n') }] }
  const tools = portableTools(chat, losses)
  if (tools.length > 0) body.tools = [{ functionDeclarations: tools.map(tool => writeTool(tool, losses)) }]
  if (chat.toolChoice && tools.length > 0)
    body.toolConfig = { functionCallingConfig: writeToolChoice(chat.toolChoice, losses) }
  const config: JsonObject = {}
  writeSettings(chat, PLAIN, config, losses)
  const stops = stopsFor(chat, MAX_STOPS, losses)
  if (stops) config.stopSequences = stops
  if (settings.output) writeOutput(settings.output, chat, config, losses)
  const thinking = extras.thinkingConfig ?? extras.thinking_config ?? writeThinking(settings.reasoning, chat.model)
  if (thinking !== undefined) config.thinkingConfig = thinking
  if (Object.keys(config).length > 0) body.generationConfig = config
  writeExtras(chat, body)
  loseCaches(chat, losses)
  loseNames(chat, losses)
  loseDetails(chat, losses)
  loseExtras(chat, losses, TAKEN)
  return body
}

/** Cached content already includes instructions and tools. */
function writeExtras({ extras }: Chat, body: JsonObject): void {
  const safety = extras.safetySettings ?? extras.safety_settings
  if (Array.isArray(safety)) body.safetySettings = safety
  if (isObject(extras.labels)) body.labels = extras.labels
  const cached = extras.cachedContent ?? extras.cached_content
  if (typeof cached !== 'string') return
  body.cachedContent = cached
  delete body.systemInstruction
  delete body.tools
  delete body.toolConfig
}

function writeTool(tool: Tool, losses: Losses): JsonObject {
  const { name, description, schema, custom, at } = tool
  const plain = schema === undefined && !custom
  return defined({ name, description, parameters: plain ? undefined : geminiSchema(schemaFor(tool), at, losses) })
}

function writeToolChoice(choice: ToolChoice, losses: Losses): JsonObject {
  if (choice.mode === 'some' && !choice.required)
    losses.add('tool_choice', 'Gemini limits the choice to some tools only where a call is required; all may be called')
  if (choice.mode === 'tool') return { mode: 'ANY', allowedFunctionNames: [choice.name] }
  if (choice.mode === 'some')
    return choice.required ? { mode: 'ANY', allowedFunctionNames: choice.names } : { mode: 'AUTO' }
  return { mode: choice.mode === 'none' ? 'NONE' : choice.mode === 'required' ? 'ANY' : 'AUTO' }
}

function writeOutput(output: OutputFormat, { names }: Chat, config: JsonObject, losses: Losses): void {
  config.responseMimeType = 'application/json'
  if (output.kind === 'schema' && output.description !== undefined)
    losses.drop(`${names.output ?? 'output'}.description`, 'descriptions of schemas')
  if (output.kind === 'schema') config.responseSchema = geminiSchema(output.schema, names.output ?? 'output', losses)
}

function writeThinking(reasoning: Reasoning | undefined, model: string): JsonObject | undefined {
  if (reasoning === undefined || reasoning.effort === 'none') return undefined
  const includeThoughts = reasoning.summary !== 'omitted'
  if (/gemini-3/.test(model) && reasoning.effort !== undefined) {
    const { effort } = reasoning
    const thinkingLevel = effort === 'xhigh' || effort === 'max' ? 'high' : effort
    return { thinkingLevel, includeThoughts }
  }
  if (reasoning.adaptive && reasoning.effort === undefined) return { thinkingBudget: -1, includeThoughts }
  const thinkingBudget = budgetOf(reasoning)
  return thinkingBudget === undefined ? undefined : { thinkingBudget, includeThoughts }
}

interface Content {
  readonly role: string
  readonly parts: JsonObject[]
  /** Function responses are in a turn of their own. */
  readonly answers: boolean
}

function writeContents(chat: Chat, losses: Losses): JsonObject[] {
  const contents: Content[] = []
  const names = new Map<string, string>()
  const order = new Map<string, number>()
  const add = (role: string, parts: readonly JsonObject[], answers: boolean): void => {
    if (parts.length === 0) return
    const last = contents.at(-1)
    if (last?.role === role && last.answers === answers) last.parts.push(...parts)
    else contents.push({ role, parts: [...parts], answers })
  }
  for (const { role, parts } of chat.turns) {
    for (const part of parts) {
      if (part.kind !== 'toolCall') continue
      names.set(part.id, part.name)
      order.set(part.id, order.size)
    }
    if (role === 'assistant') add('model', writeModelParts(parts, chat.model, losses), false)
    else if (role === 'user') {
      const results = parts.filter(part => part.kind === 'toolResult')
      results.sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0))
      add(
        'user',
        results.map(part => writeResult(part, names, losses)),
        true,
      )
      const rest = parts.filter(part => part.kind !== 'toolResult')
      add('user', writeUserParts([...rest, ...results.flatMap(mediaOfResult)], losses), false)
    }
  }
  if (contents.length === 0) return [{ role: 'user', parts: [{ text: ' ' }] }]
  return contents.map(({ role, parts }) => ({ role, parts }))
}

function mediaOfResult({ parts }: ToolResultPart): readonly Part[] {
  return parts.filter(({ kind }) => kind !== 'text')
}

function writeModelParts(parts: readonly Part[], model: string, losses: Losses): JsonObject[] {
  const calls = parts.filter(part => part.kind === 'toolCall')
  // A signature on the reasoning belongs to the first call (llm.md 9, 11).
  const loose = calls.some(({ signature }) => signature !== undefined)
    ? undefined
    : parts.find(part => part.kind === 'reasoning' && part.signature !== undefined)
  const inherited = loose?.kind === 'reasoning' ? loose.signature : undefined
  const first = inherited ?? (/gemini-3/.test(model) ? NO_SIGNATURE : undefined)
  return parts.flatMap(part => {
    if (part.kind === 'reasoning') {
      if (part.text !== '' || inherited === undefined || calls.length === 0)
        losses.drop(part.at, 'reasoning of earlier turns')
      return []
    }
    if (part.kind !== 'toolCall') return writePart(part, losses)
    const functionCall = { name: part.name, args: argumentsFor(part, losses) }
    const thoughtSignature = part.signature ?? (part === calls[0] ? first : undefined)
    return [defined({ functionCall, thoughtSignature })]
  })
}

function writeUserParts(parts: readonly Part[], losses: Losses): JsonObject[] {
  const written = parts.flatMap(part => writePart(part, losses))
  // The API rejects a turn that has only images.
  if (written.length > 0 && written.every(part => part.text === undefined)) written.push({ text: ' ' })
  return written
}

function writeResult(part: ToolResultPart, names: ReadonlyMap<string, string>, losses: Losses): JsonObject {
  const name = names.get(part.id) ?? part.name ?? ''
  const text = joinTexts(part.parts, '')
  for (const each of mediaOfResult(part)) losses.add(each.at, 'Gemini takes only JSON in results; moved behind it')
  return { functionResponse: { name, response: part.error ? { error: text } : { content: text } } }
}

function writePart(part: Part, losses: Losses): JsonObject[] {
  switch (part.kind) {
    case 'text':
      dropCitations(part, losses)
      return [defined({ text: part.text, thoughtSignature: part.signature })]
    case 'refusal':
      return [{ text: part.text }]
    case 'image':
      return [writeMedia(part)]
    case 'document':
      loseDocumentContext(part, losses)
      if (part.source.kind === 'text') return [{ text: part.source.text }]
      return [writeMedia(part)]
    case 'audio':
      return [{ inlineData: { mimeType: part.mediaType, data: part.data } }]
    default:
      dropPart(part, losses)
      return []
  }
}

const BY_EXTENSION: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  pdf: 'application/pdf',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  txt: 'text/plain',
}

function writeMedia({ source, at }: Pick<ImagePart, 'source' | 'at'>): JsonObject {
  if (source.kind === 'data') {
    const mimeType = source.mediaType === 'image/jpg' ? 'image/jpeg' : source.mediaType || 'application/pdf'
    return { inlineData: { mimeType, data: source.data } }
  }
  if (source.kind !== 'url') throw new Untranslatable(at, 'the file is stored at another provider; send its content')
  if (!source.url.startsWith('gs://')) {
    throw new Untranslatable(at, 'Gemini fetches nothing from the web; send a `data:` URL or one with `gs://`')
  }
  const mimeType = mimeOf(source.mediaType) ?? BY_EXTENSION[/\.(\w+)$/.exec(source.url)?.[1]?.toLowerCase() ?? '']
  if (mimeType === undefined) throw new Untranslatable(at, 'has no media type: add `format`, such as `image/png`')
  return { fileData: { mimeType, fileUri: source.url } }
}

/** `png` is accepted as shorthand. */
function mimeOf(type: string | undefined): string | undefined {
  return type === undefined || type === '' || type.includes('/') ? type || undefined : BY_EXTENSION[type.toLowerCase()]
}
