import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { TraceEvent } from '../../trace/trace-event.ts'
import { wordsOf } from '../events/steps.ts'
import { parseFieldPath } from '../test-file/field-path.ts'
import { guardsIn } from './guard-events.ts'

/** The step that determined the outcome of a request. */
export interface Decision {
  /** `localRateLimit failed (route)` */
  readonly text: string
  readonly origin: Origin | undefined
}

/**
 * The guard whose result contradicts a field in `wrong`, else the last step that ended the request, else the selected
 * backend.
 */
export function decidedBy(events: readonly TraceEvent[], wrong: readonly string[]): Decision | undefined {
  const event = guardOf(wrong, events) ?? endOf(events) ?? events.findLast(({ message }) => message.type === 'backend')
  if (event === undefined) return undefined
  const { label, text } = wordsOf(event)
  return { text: `${label}: ${text}`, origin: event.origins[0] }
}

function guardOf(wrong: readonly string[], events: readonly TraceEvent[]): TraceEvent | undefined {
  const kinds = wrong
    .map(field => parseFieldPath(field) ?? [])
    .flatMap(([head, kind]) => (head === 'guard' ? [kind] : []))
  const guards = guardsIn(events)
  return kinds.map(kind => guards.get(String(kind))?.event).find(event => event !== undefined)
}

/** When a guard refuses a call to a provider, the call ends because of the guard. */
function endOf(events: readonly TraceEvent[]): TraceEvent | undefined {
  const end = events.findLastIndex(ends)
  const last = events[end]
  if (last?.message.type !== 'callEnd') return last
  const before = events.slice(0, end).findLast(event => event.message.type === 'callStart' || ends(event))
  return before?.message.type === 'guard' ? before : last
}

function ends({ message }: TraceEvent): boolean {
  switch (message.type) {
    case 'listener':
      return message.listener === null
    case 'route':
      return message.selected === null
    case 'authorization':
      return message.result === 'deny'
    case 'policy':
      return message.policy !== 'authorization' && (message.result === 'failed' || message.result === 'replied')
    case 'guard':
      return message.action === 'reject' || message.action === 'fail'
    case 'callEnd':
      return message.error !== undefined
    default:
      return false
  }
}
