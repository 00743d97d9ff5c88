import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { TraceEvent } from '../../trace/trace-event.ts'
import { decidingRules, type Rule } from './rules.ts'

/** What requests can come to. */
export const COVERED = ['listener', 'route', 'policy', 'rule', 'backend'] as const
export type CoveredKind = (typeof COVERED)[number]

/** How often, by kind and place. */
export type Reached = Map<string, number>

export function placeKey(kind: CoveredKind, { file, line, col }: Origin): string {
  return `${kind} ${file}:${line}:${col}`
}

/** Of a rule: by the place of its policy, and as `decidingRules` names it. */
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

/** Of a policy it counts when it did something. */
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
