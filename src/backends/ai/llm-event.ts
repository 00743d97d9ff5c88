import type { Exchange, LlmFacts } from '../../http/exchange.ts'

/** Emits the facts known so far as a trace event. */
export function emit(x: Exchange, facts: LlmFacts): void {
  if (x.trace === undefined) return
  const cost = facts.totalTokens === undefined ? undefined : facts.prices?.lookUp(facts).cost?.total
  x.trace.emit({
    type: 'llm',
    provider: facts.provider,
    model: facts.responseModel ?? facts.requestModel,
    streaming: facts.streaming,
    ...(facts.inputTokens === undefined ? {} : { inputTokens: facts.inputTokens }),
    ...(facts.outputTokens === undefined ? {} : { outputTokens: facts.outputTokens }),
    ...(facts.losses === undefined ? {} : { losses: facts.losses }),
    ...(cost === undefined ? {} : { cost }),
  })
}
