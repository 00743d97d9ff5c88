import type { LlmFacts } from '../../http/exchange.ts'

/** Input that providers count with the cache, and output. */
export function tokensOf({ inputTokens, outputTokens, totalTokens }: LlmFacts): number {
  return inputTokens === undefined && outputTokens === undefined
    ? (totalTokens ?? 0)
    : (inputTokens ?? 0) + (outputTokens ?? 0)
}
