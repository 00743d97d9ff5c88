import { validate } from '../../generated/validators/trace-event.js'
import type { Schema } from '../../schema/builder.ts'
import { decode, INVALID } from '../../schema/decode.ts'
import type { TraceEvent, TraceMessage, TraceMessageType } from '../../trace/trace-event.ts'
import { TRACE_EVENT, TRACE_MESSAGES } from '../../trace/trace-event-schema.ts'
import { isRecord, publicEventTranslator } from './public-events.ts'

/** A message of an unknown kind, shown as it is. */
export interface UnknownMessage {
  readonly type: 'unknown'
  readonly name: string
  readonly value: unknown
}

/** A validated event from outside. */
export type ReadEvent = Omit<TraceEvent, 'message'> & {
  readonly message: TraceMessage | UnknownMessage
  /** The index of the stream within the recording: a gateway that was lost and came back begins another one. */
  readonly stream: number
}

/** Decodes one recording. */
export interface EventReader {
  /** The event in a JSON text. Undefined if it is invalid: a stream survives unreadable events. */
  read(text: string): ReadEvent | undefined
}

export function createEventReader(): EventReader {
  const translate = publicEventTranslator()
  let stream = 0
  let last = 0
  return {
    read(text) {
      let value: unknown
      try {
        value = JSON.parse(text)
      } catch {
        return undefined
      }
      const event = readEvent(translate(value) ?? value)
      if (event === undefined) return undefined
      // Numbers increase within a stream; a new stream restarts them, and the request numbers.
      if (event.seq <= last) stream++
      last = event.seq
      // Nothing ends before it begins, whatever the file says.
      const length = event.from !== undefined && event.from > event.at ? { from: event.at } : {}
      return { ...event, ...length, stream }
    },
  }
}

function readEvent(value: unknown): Omit<ReadEvent, 'stream'> | undefined {
  if (validate(value)) return value as TraceEvent
  // Of an unknown kind, or not an event.
  const event = checked(TRACE_EVENT, value)
  if (event === undefined) return undefined
  const { message } = event
  if (!isRecord(message) || typeof message.type !== 'string') return undefined
  return { ...event, message: readMessage(message, message.type) }
}

function readMessage(message: Readonly<Record<string, unknown>>, type: string): ReadEvent['message'] {
  const known = Object.hasOwn(TRACE_MESSAGES, type)
    ? checked<TraceMessage>(TRACE_MESSAGES[type as TraceMessageType], message)
    : undefined
  if (known !== undefined) return known
  const { type: _, ...value } = message
  return { type: 'unknown', name: type, value }
}

function checked<T>(schema: Schema<T>, value: unknown): T | undefined {
  const context = {
    report: () => {},
    paths: new WeakMap(),
    cel: undefined,
    patterns: undefined,
    missing: new Set<never>(),
  }
  const decoded = decode(schema, value, [], context)
  return decoded === INVALID ? undefined : decoded
}
