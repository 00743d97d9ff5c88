import type { LlmFacts } from '../http/exchange.ts'

/** Token counts as reported by a provider. A stream reports them in parts, and the last value of each wins. */
export interface Usage {
  readonly input?: number | undefined
  readonly output?: number | undefined
  readonly total?: number | undefined
  readonly cacheRead?: number | undefined
  readonly cacheCreation?: number | undefined
  readonly reasoning?: number | undefined
  readonly inputAudio?: number | undefined
  readonly outputAudio?: number | undefined
  /** The result of a call that only counts tokens: they are not used. */
  readonly counted?: number | undefined
}

/** Whether a provider's input count includes the tokens read from or written to its cache. */
export type CacheConvention = 'included' | 'excluded'

/**
 * Collects the usage of one response and keeps the exchange's LLM facts current, so that a client that disconnects is
 * still charged for the usage reported so far. Input is normalized to include cached tokens (spec "Rate limiting
 * semantics", 3).
 */
export class UsageRecorder {
  readonly #facts: LlmFacts
  readonly #cache: CacheConvention
  #usage: Usage = {}

  constructor(facts: LlmFacts, cache: CacheConvention) {
    this.#facts = facts
    this.#cache = cache
  }

  add(part: Usage): void {
    const was = this.#usage
    const now: Usage = {
      input: part.input ?? was.input,
      output: part.output ?? was.output,
      total: part.total ?? was.total,
      cacheRead: part.cacheRead ?? was.cacheRead,
      cacheCreation: part.cacheCreation ?? was.cacheCreation,
      reasoning: part.reasoning ?? was.reasoning,
      inputAudio: part.inputAudio ?? was.inputAudio,
      outputAudio: part.outputAudio ?? was.outputAudio,
    }
    this.#usage = now
    const facts = this.#facts
    const cached = this.#cache === 'excluded' ? (now.cacheRead ?? 0) + (now.cacheCreation ?? 0) : 0
    if (now.input !== undefined) facts.inputTokens = now.input + cached
    if (now.output !== undefined) facts.outputTokens = now.output
    if (now.cacheRead !== undefined) facts.cachedInputTokens = now.cacheRead
    if (now.cacheCreation !== undefined) facts.cacheCreationInputTokens = now.cacheCreation
    if (now.reasoning !== undefined) facts.reasoningTokens = now.reasoning
    if (now.inputAudio !== undefined) facts.inputAudioTokens = now.inputAudio
    if (now.outputAudio !== undefined) facts.outputAudioTokens = now.outputAudio
    if (part.counted !== undefined) facts.countTokens = part.counted
    if (now.total !== undefined && this.#cache === 'included') facts.totalTokens = now.total
    else if (now.input !== undefined || now.output !== undefined) {
      facts.totalTokens = (facts.inputTokens ?? 0) + (facts.outputTokens ?? 0)
    }
  }

  model(name: string): void {
    this.#facts.responseModel = name
  }
}

/** A member of a JSON value by path, if every step exists. */
export function member(value: unknown, ...path: readonly string[]): unknown {
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

/** A token count: a non-negative integer. */
export function count(value: unknown, ...path: readonly string[]): number | undefined {
  const found = member(value, ...path)
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : undefined
}
