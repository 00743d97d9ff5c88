import type { LlmFacts } from '../../http/exchange.ts'

/** Input tokens including cached ones, plus output tokens. */
export function tokensOf({ inputTokens, outputTokens, totalTokens }: LlmFacts): number {
  return inputTokens === undefined && outputTokens === undefined
    ? (totalTokens ?? 0)
    : (inputTokens ?? 0) + (outputTokens ?? 0)
}
