import type { CostCatalog, LlmCost, LlmFacts } from '../../http/exchange.ts'
import { type CatalogSpec, type ModelPrices, RATES, type Rate, type RatesSpec } from './catalog-schema.ts'

type Prices = Partial<Record<Rate, bigint>>

interface Entry {
  readonly prices: Prices
  /** Longest context first. */
  readonly tiers: readonly { readonly over: number; readonly prices: Prices }[]
}

/** Units per dollar. */
const UNIT = 1e12

/** Token prices by provider and model (spec "ProxyParameters", `modelCatalog`). */
export class PriceList implements CostCatalog {
  readonly #entries = new Map<string, Entry>()

  /** Later sources override earlier ones price by price; tiers are replaced as a whole. */
  constructor(sources: readonly CatalogSpec[]) {
    for (const { providers } of sources) {
      for (const [provider, { models }] of Object.entries(providers)) {
        for (const [model, prices] of Object.entries(models)) this.#add(keyOf(provider, model), prices)
      }
    }
  }

  #add(key: string, { rates, tiers }: ModelPrices): void {
    const known = this.#entries.get(key)
    const own = tiers.map(({ contextOver, rates }) => ({ over: contextOver, prices: pricesOf(rates) }))
    this.#entries.set(key, {
      prices: { ...known?.prices, ...pricesOf(rates) },
      tiers: own.length === 0 ? (known?.tiers ?? []) : own.sort((a, b) => b.over - a.over),
    })
  }

  /** Uses the model that responded, or the requested one if that is unknown. */
  lookUp(llm: LlmFacts): ReturnType<CostCatalog['lookUp']> {
    const { provider, responseModel, requestModel } = llm
    const entry =
      (responseModel === undefined ? undefined : this.#entries.get(keyOf(provider, responseModel))) ??
      this.#entries.get(keyOf(provider, requestModel))
    if (entry === undefined) return { status: 'Missing' }
    const tier = entry.tiers.find(({ over }) => (llm.inputTokens ?? 0) > over)
    const prices = tier ? { ...entry.prices, ...tier.prices } : entry.prices
    return Object.keys(prices).length === 0 ? { status: 'Unpriced' } : { status: 'Exact', cost: costOf(llm, prices) }
  }
}

function keyOf(provider: string, model: string): string {
  return `${provider}\n${model}`
}

function pricesOf(rates: RatesSpec | undefined): Prices {
  const given = RATES.flatMap(rate => (rates?.[rate] === undefined ? [] : [[rate, BigInt(rates[rate])]]))
  return Object.fromEntries(given)
}

/** Tokens without a specific price cost as much as their general kind. */
function costOf(llm: LlmFacts, prices: Prices): LlmCost {
  const { inputTokens = 0, outputTokens = 0, reasoningTokens = 0 } = llm
  const { cachedInputTokens = 0, cacheCreationInputTokens = 0, inputAudioTokens = 0, outputAudioTokens = 0 } = llm
  const tokens: Record<Rate, number> = {
    input: Math.max(0, inputTokens - cachedInputTokens - cacheCreationInputTokens - inputAudioTokens),
    output: Math.max(0, outputTokens - reasoningTokens - outputAudioTokens),
    cacheRead: cachedInputTokens,
    cacheWrite: cacheCreationInputTokens,
    reasoning: reasoningTokens,
    inputAudio: inputAudioTokens,
    outputAudio: outputAudioTokens,
  }
  let total = 0n
  const parts: Partial<Record<Rate, number>> = {}
  const rates: Partial<Record<Rate, number>> = {}
  for (const rate of RATES) {
    const price = prices[rate] ?? prices[KIND[rate]] ?? 0n
    const amount = BigInt(tokens[rate]) * price
    total += amount
    if (tokens[rate] > 0) parts[rate] = Number(amount) / UNIT
    if (prices[rate] !== undefined) rates[rate] = Number(prices[rate]) / 1e6
  }
  return { total: Number(total) / UNIT, parts, rates }
}

const KIND: Readonly<Record<Rate, 'input' | 'output'>> = {
  input: 'input',
  output: 'output',
  cacheRead: 'input',
  cacheWrite: 'input',
  reasoning: 'output',
  inputAudio: 'input',
  outputAudio: 'output',
}
