import type {
  Chat,
  ChatFormat,
  DocumentPart,
  Effort,
  Part,
  Reasoning,
  Setting,
  SettingNames,
  Settings,
  TextPart,
  Tool,
} from './chat.ts'
import { EFFORTS } from './chat.ts'
import { isBlank } from './content.ts'
import { isObject, isVoid, type JsonObject } from './json.ts'
import type { Losses } from './losses.ts'

/** Settings that every format represents as one number, string or boolean. */
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
  'cacheRetention',
  'safetyId',
] as const satisfies readonly Setting[]

/** Reads the plain settings that `names` maps. Null counts as absent, as in the public APIs. */
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
 * Writes the plain settings that `names` maps; others are recorded as losses under the client's names. `handled`:
 * settings that the caller writes.
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
    if (name !== undefined) body[name] = value
    else if (!isNoOp(setting, value)) losses.drop(chat.names[setting] ?? setting)
  }
}

/** Values that every provider defaults to; clients send them explicitly. */
const USUAL: Readonly<Partial<Record<Setting, readonly unknown[]>>> = {
  choices: [1],
  frequencyPenalty: [0],
  presencePenalty: [0],
  logprobs: [false],
  topLogprobs: [0],
  parallelTools: [true],
  serviceTier: ['auto', 'default'],
  verbosity: ['medium'],
}

function isNoOp(setting: Setting, value: unknown): boolean {
  return USUAL[setting]?.includes(value) === true || (isObject(value) && Object.keys(value).length === 0)
}

/** The stop sequences, up to the provider's limit. */
export function stopsFor({ settings, names }: Chat, most: number, losses: Losses): readonly string[] | undefined {
  const { stop } = settings
  if (stop === undefined || stop.length <= most) return stop
  losses.add(names.stop ?? 'stop', `${losses.into} takes ${most}; the rest dropped`)
  return stop.slice(0, most)
}

/** A string or a list of strings. */
export function stopList(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value)) return undefined
  const texts = value.filter(each => typeof each === 'string')
  return texts.length === 0 ? undefined : texts
}

export function effortOf(value: unknown): Effort | undefined {
  return EFFORTS.find(effort => effort === value)
}

/** The thinking budget for each effort (llm.md 3.0). */
const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 2048,
  high: 4096,
  xhigh: 8192,
  max: 16384,
}

/** Undefined if no thinking was requested. */
export function budgetOf(reasoning: Reasoning | undefined): number | undefined {
  if (reasoning === undefined) return undefined
  const budget = reasoning.budget ?? (reasoning.effort ? BUDGETS[reasoning.effort] : undefined)
  return budget === 0 ? undefined : (budget ?? (reasoning.adaptive ? BUDGETS.high : undefined))
}

/** The smallest effort whose budget is sufficient. */
export function effortFor(reasoning: Reasoning): Effort | undefined {
  if (reasoning.effort !== undefined) return reasoning.effort
  if (reasoning.adaptive) return 'high'
  const { budget } = reasoning
  if (budget === undefined || budget === 0) return undefined
  return budget <= BUDGETS.low ? 'low' : budget <= BUDGETS.medium ? 'medium' : 'high'
}

/** How OpenAI says how much of its reasoning is shown. */
export function summaryFor({ summary }: Reasoning): string | undefined {
  return summary === 'summarized' ? 'auto' : summary === 'omitted' ? undefined : summary
}

/** The instructions before and within the conversation; most providers have no place for the latter. */
export function allInstructions({ system, turns }: Chat, losses: Losses): readonly TextPart[] {
  const moved = turns.flatMap(({ role, parts, at }) => {
    if (role !== 'system') return []
    losses.add(at, `${losses.into} takes instructions only before the conversation; moved there`)
    return parts.filter(part => part.kind === 'text')
  })
  return [...system, ...moved].filter(({ text }) => !isBlank(text))
}

/** The texts among instructions; anything else goes to `extras`. */
export function instructionsOf(parts: readonly Part[], extras: Record<string, unknown>): TextPart[] {
  return parts.filter(part => {
    if (part.kind !== 'text') extras[part.at] = part
    return part.kind === 'text'
  })
}

/** What only OpenAI's formats say of speakers and tools. */
export function loseNames(chat: Chat, losses: Losses): void {
  loseSpeakers(chat, losses)
  const { tools, from } = chat
  for (const { strict, custom, schema, at } of tools) {
    if (strict) losses.drop(`${at}${DEFINITION[from]}.strict`, 'strict tools')
    if (custom && isObject(schema) && schema.type === 'grammar')
      losses.drop(from === 'completions' ? `${at}.custom.format` : `${at}.format`, 'grammars')
  }
}

/** Where a tool's definition is within its entry. */
const DEFINITION: Readonly<Record<ChatFormat, string>> = {
  completions: '.function',
  messages: '',
  responses: '',
  generateContent: '',
  converse: '.toolSpec',
}

export function loseSpeakers({ turns }: Chat, losses: Losses): void {
  for (const { name, at } of turns) if (name !== undefined) losses.drop(`${at}.name`, 'names of speakers')
}

/** How closely to look at images, which only OpenAI's formats say. */
export function loseDetails({ turns, from }: Chat, losses: Losses): void {
  const look = (part: Part): void => {
    if (part.kind === 'toolResult') for (const each of part.parts) look(each)
    if (part.kind !== 'image' || part.detail === undefined || part.detail === 'auto') return
    losses.drop(`${part.at}${from === 'completions' ? '.image_url' : ''}.detail`, 'the detail of images')
  }
  for (const { parts } of turns) for (const part of parts) look(part)
}

/** What only Anthropic's models can be told about a document. `named`: the target has document names. */
export function loseDocumentContext(
  { name, context, citations, at }: DocumentPart,
  losses: Losses,
  named = false,
): void {
  if (name !== undefined && !named) losses.drop(at, 'names of documents')
  if (context !== undefined) losses.drop(`${at}.context`, 'the context of documents')
  if (citations) losses.drop(`${at}.citations`, 'citations')
}

/** Drops cache points for a provider that manages its cache itself. `kept`: it accepts those of texts. */
export function loseCaches({ system, turns, tools }: Chat, losses: Losses, kept = false): void {
  const what = kept ? 'cache points except on texts' : 'cache points'
  const look = (part: Part | Tool): void => {
    if ('cache' in part && part.cache) {
      const { ttl, at = `${part.at}.cache_control` } = part.cache
      if (!(kept && 'kind' in part && part.kind === 'text')) losses.drop(at, what)
      else if (ttl !== undefined) losses.drop(`${at}.ttl`, 'how long it caches')
    }
    if ('parts' in part) for (const each of part.parts) look(each)
  }
  for (const part of system) look(part)
  for (const { parts } of turns) for (const part of parts) look(part)
  for (const tool of tools) look(tool)
}

/** The members of `body` not in `known`. */
export function extrasOf(body: JsonObject, known: ReadonlySet<string>): Record<string, unknown> {
  const extras: Record<string, unknown> = {}
  for (const name in body) if (!known.has(name) && !isVoid(body[name])) extras[name] = body[name]
  return extras
}

/** Adds a member whose value has no neutral form. */
export function addExtra(extras: Record<string, unknown>, path: string, value: unknown): void {
  if (!isVoid(value)) extras[path] = value
}

/** Records a loss for each extra member that was not taken. */
export function loseExtras(chat: Chat, losses: Losses, taken: readonly string[] = []): void {
  for (const name in chat.extras) {
    if (!taken.includes(name)) losses.drop(name)
  }
}

/** Tools that any provider supports; provider-specific ones are recorded as losses. */
export function portableTools(chat: Chat, losses: Losses): readonly Tool[] {
  return chat.tools.filter(({ foreign, at }) => {
    if (foreign !== undefined) losses.drop(at, `\`${foreign}\`, which runs at the client's own provider`)
    return foreign === undefined
  })
}

/** A cache control as Anthropic, and others after it, write it. */
export function cacheMark(value: unknown): { cache: { ttl?: string } } | undefined {
  if (!isObject(value)) return undefined
  return { cache: typeof value.ttl === 'string' ? { ttl: value.ttl } : {} }
}
