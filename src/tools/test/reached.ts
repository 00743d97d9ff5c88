import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { TraceEvent } from '../../trace/trace-event.ts'
import { decidingRules, type Rule } from './rules.ts'

/** Kinds of parts that requests can reach. */
export const COVERED = ['listener', 'route', 'policy', 'rule', 'backend'] as const
export type CoveredKind = (typeof COVERED)[number]

/** Hit counts, by kind and location. */
export type Reached = Map<string, number>

export function placeKey(kind: CoveredKind, { file, line, col }: Origin): string {
  return `${kind} ${file}:${line}:${col}`
}

/** The key of a rule: its policy's location, and its name in `decidingRules`. */
export function ruleKey({ mode, text }: Rule, policy: Origin): string {
  return `${placeKey('rule', policy)} ${mode} ${text}`
}

export function countReached(events: readonly TraceEvent[], into: Reached): void {
  const count = (key: string) => void into.set(key, (into.get(key) ?? 0) + 1)
  for (const event of events) {
    const kind = kindOf(event)
    const rules = decidingRules(event)
    for (const origin of event.origins) {
      if (kind !== undefined) count(placeKey(kind, origin))
      for (const rule of rules) count(ruleKey(rule, origin))
    }
  }
}

/** A policy counts if it had an effect. */
function kindOf({ message }: TraceEvent): CoveredKind | undefined {
  switch (message.type) {
    case 'listener':
      return message.listener === null ? undefined : 'listener'
    case 'route':
      return message.selected === null ? undefined : 'route'
    case 'policy':
      return message.result === 'skipped' ? undefined : 'policy'
    case 'backend':
      return 'backend'
    default:
      return undefined
  }
}
