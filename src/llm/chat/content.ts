import { parseExact } from '../../mcp/exact-json.ts'
import type { Part, Source, TextPart, Tool, ToolCallPart } from './chat.ts'
import { isObject, type JsonObject, textOf } from './json.ts'
import type { Losses } from './losses.ts'

const DATA_URL = /^data:([^;,]+);base64,/i

/** A base64 `data:` URL, or an ordinary URL. */
export function sourceOf(url: string): Source {
  const match = DATA_URL.exec(url)
  return match
    ? { kind: 'data', mediaType: match[1] as string, data: url.slice(match[0].length) }
    : { kind: 'url', url }
}

/** The source as a URL. Undefined if it has none. */
export function urlOf(source: Source): string | undefined {
  if (source.kind === 'data') return `data:${source.mediaType};base64,${source.data}`
  return source.kind === 'url' ? source.url : undefined
}

/**
 * The arguments of a call as an object, undefined if they are not one. Numbers beyond double precision are preserved.
 */
export function argumentsObject(text: string): JsonObject | undefined {
  if (text.trim() === '') return {}
  try {
    const value = parseExact(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The arguments of a call for a provider that accepts only objects; a text is wrapped in one. */
export function argumentsFor({ arguments: text, custom, at }: ToolCallPart, losses: Losses): JsonObject {
  const value = custom ? undefined : argumentsObject(text)
  if (value === undefined && !custom) losses.add(at, 'not a JSON object; sent as text in `input`')
  return value ?? { input: text }
}

/** The text argument of a custom tool, from the JSON that a model wrote. */
export function inputText(json: string): string {
  return textOf(argumentsObject(json)?.input) ?? json
}

/** The argument schema for a provider whose tools take only JSON. */
export function schemaFor({ schema, custom }: Tool): unknown {
  if (custom) return { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] }
  return schema ?? { type: 'object', properties: {} }
}

/** The texts of `parts`, joined. */
export function joinTexts(parts: readonly Part[], separator: string): string {
  const texts: string[] = []
  for (const part of parts) if (part.kind === 'text') texts.push(part.text)
  return texts.join(separator)
}

export function textPart(text: string, at: string): TextPart {
  return { kind: 'text', text, at }
}

/** A part as losses call it. */
export function partName(part: Part): string {
  return `\`${part.kind === 'foreign' ? part.type : part.kind}\``
}

export function dropPart(part: Part, losses: Losses): void {
  losses.drop(part.at, partName(part))
}

export function dropCitations({ citations, at }: TextPart, losses: Losses): void {
  if (citations?.length) losses.drop(`${at}.citations`, 'citations')
}

export function isBlank(text: string): boolean {
  return text.trim() === ''
}
