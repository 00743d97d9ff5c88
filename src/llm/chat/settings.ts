import type { Chat, Effort, Reasoning, Setting, SettingNames, Settings, Tool } from './chat.ts'
import { EFFORTS } from './chat.ts'
import { isObject, type JsonObject } from './json.ts'
import type { Losses } from './losses.ts'

/** Settings that every format writes as one number, text or flag. */
const PLAIN = [
  'maxTokens',
  'temperature',
  'topP',
  'topK',
  'seed',
  'frequencyPenalty',
  'presencePenalty',
  'choices',
  'logprobs',
  'topLogprobs',
  'logitBias',
  'parallelTools',
  'user',
  'metadata',
  'serviceTier',
  'verbosity',
  'cacheKey',
] as const satisfies readonly Setting[]

/** Takes the plain settings that `names` places in `body`. Null counts as absent, as the public APIs have it. */
export function readSettings(body: JsonObject, names: SettingNames): Settings {
  const settings: Record<string, unknown> = {}
  for (const setting of PLAIN) {
    const name = names[setting]
    if (name === undefined) continue
    const value = body[name]
    if (value !== undefined && value !== null) settings[setting] = value
  }
  return settings as Settings
}

/**
 * Writes the plain settings that `names` has a place for; the others are losses under the client's names. `handled`:
 * those that the caller writes.
 */
export function writeSettings(
  chat: Chat,
  names: SettingNames,
  body: JsonObject,
  losses: Losses,
  handled: readonly Setting[] = [],
): void {
  for (const setting of PLAIN) {
    const value = chat.settings[setting]
    if (value === undefined || handled.includes(setting)) continue
    const name = names[setting]
    if (name === undefined) losses.add(chat.names[setting] ?? setting, 'the provider has no such setting')
    else body[name] = value
  }
}

/** One text or a list of them. */
export function stopList(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value)) return undefined
  const texts = value.filter(each => typeof each === 'string')
  return texts.length === 0 ? undefined : texts
}

export function effortOf(value: unknown): Effort | undefined {
  return EFFORTS.find(effort => effort === value)
}

/** Tokens to think with for an effort (llm.md 3.0). */
const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 2048,
  high: 4096,
  xhigh: 8192,
  max: 16384,
}

/** Undefined: no thinking was asked for. */
export function budgetOf(reasoning: Reasoning | undefined): number | undefined {
  if (reasoning === undefined) return undefined
  const budget = reasoning.budget ?? (reasoning.effort ? BUDGETS[reasoning.effort] : undefined)
  return budget === 0 ? undefined : (budget ?? (reasoning.adaptive ? BUDGETS.high : undefined))
}

/** The effort that stands for a budget of tokens: the smallest that allows as many. */
export function effortFor(reasoning: Reasoning): Effort | undefined {
  if (reasoning.effort !== undefined) return reasoning.effort
  if (reasoning.adaptive) return 'high'
  const { budget } = reasoning
  if (budget === undefined || budget === 0) return undefined
  return budget <= BUDGETS.low ? 'low' : budget <= BUDGETS.medium ? 'medium' : 'high'
}

/** Every member of `body` that `known` does not name. */
export function extrasOf(body: JsonObject, known: ReadonlySet<string>): Record<string, unknown> {
  const extras: Record<string, unknown> = {}
  for (const name in body) if (!known.has(name) && body[name] !== null) extras[name] = body[name]
  return extras
}

/** Says of each extra member that nobody took that it is lost. */
export function loseExtras(chat: Chat, losses: Losses, taken: readonly string[] = []): void {
  for (const name in chat.extras) {
    if (!taken.includes(name)) losses.add(name, 'has no counterpart at the provider')
  }
}

/** The tools that any provider can offer; those that run at the client's own are losses. */
export function portableTools(chat: Chat, losses: Losses): readonly Tool[] {
  return chat.tools.filter(({ foreign, at }) => {
    if (foreign !== undefined) losses.add(at, `\`${foreign}\` runs at the client's own provider only`)
    return foreign === undefined
  })
}

/** What is cached and how long, as Anthropic writes it and others copy it. */
export function cacheMark(value: unknown): { cache: { ttl?: string } } | undefined {
  if (!isObject(value)) return undefined
  return { cache: typeof value.ttl === 'string' ? { ttl: value.ttl } : {} }
}
