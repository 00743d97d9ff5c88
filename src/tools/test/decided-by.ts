import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { TraceEvent } from '../../trace/trace-event.ts'
import { wordsOf } from '../events/steps.ts'

/** The step that made a request come out as it did. */
export interface Decision {
  /** `localRateLimit failed (route)` */
  readonly text: string
  readonly origin: Origin | undefined
}

/** The last step that ended the way of the request, else the backend that was chosen. */
export function decidedBy(events: readonly TraceEvent[]): Decision | undefined {
  const event = events.findLast(ends) ?? events.findLast(({ message }) => message.type === 'backend')
  if (event === undefined) return undefined
  const { label, text } = wordsOf(event)
  return { text: `${label}: ${text}`, origin: event.origins[0] }
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
    case 'callEnd':
      return message.error !== undefined
    default:
      return false
  }
}
