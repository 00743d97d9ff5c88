import { SseReader } from '../../http/sse.ts'
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
export function llmText(body: string): string | undefined {
  const parts = body.startsWith('{') ? messagesIn(body, 'application/json') : messagesIn(body, 'text/event-stream')
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
function spokenIn({ choices, content, output, delta, type }: Readonly<Record<string, unknown>>): string[] {
  const found: unknown[] = []
  if (Array.isArray(choices)) for (const choice of choices) found.push(choice?.message?.content, choice?.delta?.content)
  if (Array.isArray(content)) found.push(contentText(content))
  if (Array.isArray(output)) for (const item of output) found.push(contentText(item?.content))
  if (type === 'response.output_text.delta') found.push(delta)
  if (type === 'content_block_delta' && isObject(delta)) found.push(delta.text)
  return found.filter(text => typeof text === 'string')
}
