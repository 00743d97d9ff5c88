import { SseReader } from '../../http/sse.ts'
import { FrameReader } from '../../llm/framing/event-stream-frames.ts'
import { isObject } from '../../mcp/message.ts'

/** The message in an MCP response, JSON or stream. Undefined if there is none. */
export function mcpAnswer(body: string, type: string): Readonly<Record<string, unknown>> | undefined {
  const message = messagesIn(body, type).findLast(each => isObject(each) && each.jsonrpc === '2.0' && 'id' in each)
  if (!isObject(message)) return undefined
  const { result, error } = message
  const offered = isObject(result) ? result : {}
  const answer = {
    result,
    error,
    tools: names(offered.tools),
    prompts: names(offered.prompts),
    resources: names(offered.resources),
    text: contentText(offered.content),
    isError: offered.isError,
  }
  return Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== undefined))
}

/** The text of a model's response, in any format. Undefined if there is none. */
export function llmText(body: Buffer, type: string): string | undefined {
  const text = body.toString()
  const parts = type.startsWith('application/vnd.amazon.eventstream')
    ? framesIn(body)
    : messagesIn(text, text.startsWith('{') ? 'application/json' : 'text/event-stream')
  const texts = parts.flatMap(part => (isObject(part) ? spokenIn(part) : []))
  return texts.length === 0 ? undefined : texts.join('')
}

function messagesIn(body: string, type: string): unknown[] {
  if (!type.startsWith('text/event-stream')) return parsed(body)
  const found: unknown[] = []
  const reader = new SseReader(Number.MAX_SAFE_INTEGER, ({ data }) => void found.push(...parsed(data.toString())))
  reader.push(Buffer.from(body))
  return found
}

function framesIn(body: Buffer): unknown[] {
  const found: unknown[] = []
  const reader = new FrameReader(Number.MAX_SAFE_INTEGER, ({ data }) => void found.push(...parsed(data)))
  try {
    reader.push(body)
  } catch {
    // What stands before a broken frame was said.
  }
  return found
}

function parsed(text: string): unknown[] {
  try {
    return [JSON.parse(text)]
  } catch {
    return []
  }
}

function names(entries: unknown): readonly unknown[] | undefined {
  return Array.isArray(entries) ? entries.map(entry => (isObject(entry) ? entry.name : entry)) : undefined
}

function contentText(content: unknown): string | undefined {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  return content.map(part => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('')
}

/** The text of a whole response, or of one stream event. */
function spokenIn(event: Readonly<Record<string, unknown>>): string[] {
  const { choices, content, output, candidates, delta, type } = event
  const found: unknown[] = []
  if (Array.isArray(choices)) for (const choice of choices) found.push(choice?.message?.content, choice?.delta?.content)
  if (Array.isArray(content)) found.push(contentText(content))
  if (Array.isArray(output)) for (const item of output) found.push(contentText(item?.content))
  else if (isObject(output) && isObject(output.message)) found.push(contentText(output.message.content))
  if (Array.isArray(candidates))
    for (const candidate of candidates) found.push(contentText(withoutThoughts(candidate?.content?.parts)))
  if (type === 'response.output_text.delta') found.push(delta)
  if (isObject(delta) && (type === 'content_block_delta' || 'contentBlockIndex' in event)) found.push(delta.text)
  return found.filter(text => typeof text === 'string')
}

/** Gemini marks its thoughts, which other formats keep apart. */
function withoutThoughts(parts: unknown): unknown {
  return Array.isArray(parts) ? parts.filter(part => part?.thought !== true) : undefined
}
