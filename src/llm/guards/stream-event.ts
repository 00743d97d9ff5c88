import { parseExact } from '../../mcp/exact-json.ts'
import { isObject, type JsonObject } from '../chat/json.ts'
import { EventTexts, type FormatTexts } from './format-texts.ts'

/** One stream event on its way through the guards. */
export interface StreamEvent {
  /** `message` if the stream has no name. */
  readonly name: string
  /** As received. Undefined if it was created here. */
  readonly data: string | undefined
  /** Undefined for the end marker of a stream. */
  readonly value: JsonObject | undefined
  readonly texts: EventTexts
}

const DONE = '[DONE]'

/** Throws SyntaxError for what is neither JSON nor the end of a stream, since it could not be checked. */
export function readEvent(format: FormatTexts, name: string, data: string): StreamEvent {
  const texts = new EventTexts()
  if (data.trim() === DONE) {
    texts.stays()
    texts.closes('')
    return { name, data, value: undefined, texts }
  }
  const value = parseExact(data)
  if (!isObject(value)) throw new SyntaxError('an event that is no JSON object')
  format.event(value, texts)
  return { name, data, value, texts }
}

/** A new event like `origin`, with `value`. */
export function madeEvent(format: FormatTexts, origin: string, value: JsonObject): StreamEvent {
  const texts = new EventTexts()
  format.event(value, texts)
  const name = origin !== 'message' && typeof value.type === 'string' ? value.type : origin
  return { name, data: undefined, value, texts }
}

/** Whether the event has content left to send. */
export function hasText({ texts }: StreamEvent): boolean {
  return texts.kept || texts.pieces.length === 0 || texts.pieces.some(({ text }) => text !== '')
}

/** Its current text. */
export function textOf({ data, value, texts }: StreamEvent): string {
  const changed = value !== undefined && (texts.write() || data === undefined || texts.rewritten)
  return changed ? JSON.stringify(value) : (data as string)
}

/** Encodes as a server-sent event. */
export function encodeEvent(event: StreamEvent): string {
  const head = event.name === 'message' ? '' : `event: ${event.name}\n`
  return `${head}${textOf(event)
    .split(/\r\n|\r|\n/)
    .map(line => `data: ${line}\n`)
    .join('')}\n`
}
