import { isObject, type JsonObject } from '../../chat/json.ts'
import { count, member, type Usage } from '../../usage.ts'

/** The usage of one finished response of a session. Undefined for other events. */
export function responseUsage(event: JsonObject): Usage | undefined {
  const usage = event.type === 'response.done' ? member(event, 'response', 'usage') : undefined
  if (!isObject(usage)) return undefined
  return {
    input: count(usage, 'input_tokens'),
    output: count(usage, 'output_tokens'),
    total: count(usage, 'total_tokens'),
    cacheRead: count(usage, 'input_token_details', 'cached_tokens'),
    inputAudio: count(usage, 'input_token_details', 'audio_tokens'),
    outputAudio: count(usage, 'output_token_details', 'audio_tokens'),
  }
}

/** The total usage of a session so far. */
export function sumOf(one: Usage, other: Usage): Usage {
  const sum: Record<string, number | undefined> = { ...one }
  for (const [name, tokens] of Object.entries(other)) if (tokens !== undefined) sum[name] = (sum[name] ?? 0) + tokens
  return sum
}

/** The model that a session reports. */
export function sessionModel(event: JsonObject): string | undefined {
  const model = member(event, 'session', 'model')
  return typeof model === 'string' ? model : undefined
}
