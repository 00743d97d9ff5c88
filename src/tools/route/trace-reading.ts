import { type Origin, placeText } from '../../diagnostics/diagnostic.ts'
import type { TraceEvent, TraceMessage, TraceMessageType } from '../../trace/trace-event.ts'

/** The messages of one type, in order. */
export function messagesOf<T extends TraceMessageType>(
  events: readonly TraceEvent[],
  type: T,
): readonly Extract<TraceMessage, { type: T }>[] {
  return events.flatMap(({ message }) => (message.type === type ? [message as Extract<TraceMessage, { type: T }>] : []))
}

/** `FILE:LINE`. */
export function place(origin: Origin): string {
  return placeText(origin)
}

/** The location of an event, if it has one. */
export function originOf(origins: readonly Origin[]): { readonly origin?: string } {
  return origins[0] ? { origin: place(origins[0]) } : {}
}
