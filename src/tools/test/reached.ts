import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { TraceEvent } from '../../http/trace-event.ts'

/** What requests can come to. */
export const COVERED = ['listener', 'route', 'policy', 'backend'] as const
export type CoveredKind = (typeof COVERED)[number]

/** How often, by kind and place. */
export type Reached = Map<string, number>

export function placeKey(kind: CoveredKind, { file, line, col }: Origin): string {
  return `${kind} ${file}:${line}:${col}`
}

export function countReached(events: readonly TraceEvent[], into: Reached): void {
  for (const event of events) {
    const kind = kindOf(event)
    if (kind === undefined) continue
    for (const origin of event.origins) {
      const key = placeKey(kind, origin)
      into.set(key, (into.get(key) ?? 0) + 1)
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
