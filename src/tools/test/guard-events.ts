import type { TraceEvent } from '../../trace/trace-event.ts'

/** In ascending order of effect on a request. */
const ACTIONS = ['allow', 'audit', 'failOpen', 'mask', 'reject', 'fail'] as const

interface GuardEvent {
  readonly event: TraceEvent
  readonly action: (typeof ACTIONS)[number]
}

/** The check with the strongest effect per kind of guard, such as `webhook`; the first one of equals. */
export function guardsIn(events: readonly TraceEvent[]): ReadonlyMap<string, GuardEvent> {
  const found = new Map<string, GuardEvent>()
  for (const event of events) {
    const { message } = event
    if (message.type !== 'guard') continue
    const before = found.get(message.guard)
    if (before === undefined || rank(message.action) > rank(before.action)) {
      found.set(message.guard, { event, action: message.action })
    }
  }
  return found
}

function rank(action: GuardEvent['action']): number {
  return ACTIONS.indexOf(action)
}
