import type { Chat, Reasoning, Setting } from './chat.ts'
import { defined, type JsonObject } from './json.ts'
import type { Losses } from './losses.ts'
import { budgetOf } from './settings.ts'

// Requirements of Claude models on requests, wherever they are hosted.

export const MIN_BUDGET = 1024
/** From this version on, models decide how much to think, and reject sampling parameters. */
const ADAPTIVE_SINCE = 4.07
/** The lowest `top_p` allowed with thinking. */
const MIN_TOP_P = 0.95

/**
 * `claude-opus-4-7` is 4.07, also within a model name of Bedrock or Vertex AI; 0 for other models and versions before
 * 4.
 */
function claudeVersion(model: string): number {
  const match = /claude-[a-z]+-(\d+)(?:[-.](\d{1,2}))?(?!\d)/.exec(model)
  return match ? Number(match[1]) + Number(match[2] ?? 0) / 100 : 0
}

export interface Thinking {
  readonly thinking: JsonObject
  /** For `output_config`. */
  readonly effort?: string
}

/** The thinking setting for a model. Undefined if thinking was not requested. */
export function thinkingFor({ settings, names, model }: Chat, maxTokens: number, losses: Losses): Thinking | undefined {
  const { reasoning } = settings
  const budget = budgetOf(reasoning)
  if (reasoning === undefined || budget === undefined) return undefined
  if (claudeVersion(model) >= ADAPTIVE_SINCE || (reasoning.adaptive && reasoning.budget === undefined)) {
    const effort = effortName(reasoning, budget)
    // These models show nothing of it unless asked.
    const display =
      reasoning.summary === undefined ? undefined : reasoning.summary === 'omitted' ? 'omitted' : 'summarized'
    return { thinking: defined({ type: 'adaptive', display }), ...(effort === undefined ? {} : { effort }) }
  }
  if (budget < MIN_BUDGET || maxTokens <= MIN_BUDGET) {
    losses.add(names.reasoning ?? 'reasoning', `Claude thinks with ${MIN_BUDGET} tokens and more; turned off`)
    return undefined
  }
  return { thinking: { type: 'enabled', budget_tokens: Math.min(budget, maxTokens - 1) } }
}

function effortName({ effort, adaptive }: Reasoning, budget: number): string | undefined {
  if (effort !== undefined) return effort === 'minimal' ? 'low' : effort
  return adaptive ? undefined : budget <= 1024 ? 'low' : budget <= 2048 ? 'medium' : 'high'
}

/** Drops sampling parameters that the model rejects, and records them in `losses`. */
export function withoutSampling({ settings, names, model }: Chat, thinks: boolean, losses: Losses): readonly Setting[] {
  const newer = claudeVersion(model) >= ADAPTIVE_SINCE
  if (!newer && !thinks) return []
  const reason = newer
    ? 'this model takes no sampling parameters; dropped'
    : 'not allowed together with thinking; dropped'
  const refused = (['temperature', 'topP', 'topK'] as const).filter(setting => {
    const value = settings[setting]
    if (value === undefined || (setting === 'topP' && !newer && value >= MIN_TOP_P)) return false
    if (value !== 1) losses.add(names[setting] ?? setting, reason)
    return true
  })
  return refused
}
