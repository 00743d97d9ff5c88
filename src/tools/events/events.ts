import { validate } from '../../generated/validators/trace-event.js'
import type { Schema } from '../../schema/builder.ts'
import { decode, INVALID } from '../../schema/decode.ts'
import type { TraceEvent, TraceMessage, TraceMessageType } from '../../trace/trace-event.ts'
import { TRACE_EVENT, TRACE_MESSAGES } from '../../trace/trace-event-schema.ts'
import { isRecord, publicEventTranslator } from './public-events.ts'

/** A message of a kind that this version does not know: shown as it is. */
export interface UnknownMessage {
  readonly type: 'unknown'
  readonly name: string
  readonly value: unknown
}

/** An event that came from outside and has been checked. */
export type ReadEvent = Omit<TraceEvent, 'message'> & {
  readonly message: TraceMessage | UnknownMessage
  /** Which of the streams that a recording is made of, from 0: a gateway that was lost and came back begins another. */
  readonly stream: number
}

/** Reads one recording. */
export interface EventReader {
  /** The event in a JSON text; undefined when it is none: a stream survives an event that cannot be read. */
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
      // Within a stream numbers rise; another one begins anew, and so do its numbers of requests.
      if (event.seq <= last) stream++
      last = event.seq
      // Nothing ends before it begins, whatever a file says.
      const length = event.from !== undefined && event.from > event.at ? { from: event.at } : {}
      return { ...event, ...length, stream }
    },
  }
}

function readEvent(value: unknown): Omit<ReadEvent, 'stream'> | undefined {
  if (validate(value)) return value as TraceEvent
  // Of a kind that this version does not know, or none at all.
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
