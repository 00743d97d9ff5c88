import type { JsonObject } from '../../chat/json.ts'

/** Where cache points go in a converse request (spec "BackendAI", `promptCaching`). */
export interface CachePoints {
  readonly cacheSystem: boolean
  readonly cacheMessages: boolean
  readonly cacheTools: boolean
  /** Estimated tokens; shorter instructions get no cache point. Null for no minimum. */
  readonly minTokens: number | null
  /** The cache point's distance in messages from the second to last. */
  readonly cacheMessageOffset: number
}

const CACHE_POINT = { cachePoint: { type: 'default' } }

/** Adds cache points to a request for `model`; model families without support reject them. */
export function addCachePoints(body: JsonObject, model: string, points: CachePoints): void {
  if (!takesCachePoints(model)) return
  const system = body.system as JsonObject[] | undefined
  if (points.cacheSystem && system && estimate(system) >= (points.minTokens ?? 0)) append(system)
  const messages = body.messages as { content: JsonObject[] }[]
  if (points.cacheMessages && messages.length >= 2) {
    append(messages[Math.max(0, messages.length - 2 - points.cacheMessageOffset)]!.content)
  }
  const tools = (body.toolConfig as { tools: JsonObject[] } | undefined)?.tools
  if (points.cacheTools && tools) append(tools)
}

/** A cache point directly after another has no effect. */
function append(blocks: JsonObject[]): void {
  if (blocks.at(-1)?.cachePoint === undefined) blocks.push(CACHE_POINT)
}

/** The name of an application inference profile does not show the model family behind it. */
function takesCachePoints(model: string): boolean {
  const name = model.toLowerCase()
  if (name.includes(':application-inference-profile/') || name.includes('amazon.nova')) return true
  return name.includes('anthropic.claude') && !/claude-(?:instant|v1|v2)/.test(name)
}

/** 1.3 tokens per word. */
function estimate(blocks: readonly JsonObject[]): number {
  let words = 0
  for (const { text } of blocks) if (typeof text === 'string') words += text.match(/\S+/g)?.length ?? 0
  return Math.floor((words * 13) / 10)
}
