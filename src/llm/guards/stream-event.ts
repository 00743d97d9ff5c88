import { parseExact } from '../../mcp/exact-json.ts'
import { isObject, type JsonObject } from '../chat/json.ts'
import { EventTexts, type FormatTexts } from './format-texts.ts'

/** One event of a stream on its way through the guards. */
export interface StreamEvent {
  /** `message` where the stream names none. */
  readonly name: string
  /** As it came; undefined: it was made here. */
  readonly data: string | undefined
  /** Undefined: the mark at the end of a stream. */
  readonly value: JsonObject | undefined
  readonly texts: EventTexts
}

const DONE = '[DONE]'

/** Throws SyntaxError for what is neither JSON nor the end of a stream: nobody could tell what it says. */
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

/** An event like `origin` with `value` in its place. */
export function madeEvent(format: FormatTexts, origin: string, value: JsonObject): StreamEvent {
  const texts = new EventTexts()
  format.event(value, texts)
  const name = origin !== 'message' && typeof value.type === 'string' ? value.type : origin
  return { name, data: undefined, value, texts }
}

/** Whether anything is left to send of it. */
export function saysSomething({ texts }: StreamEvent): boolean {
  return texts.kept || texts.pieces.length === 0 || texts.pieces.some(({ text }) => text !== '')
}

/** As it is now. */
export function textOf({ data, value, texts }: StreamEvent): string {
  const changed = value !== undefined && (texts.write() || data === undefined || texts.rewritten)
  return changed ? JSON.stringify(value) : (data as string)
}

/** In the framing of server-sent events. */
export function encodeEvent(event: StreamEvent): string {
  const head = event.name === 'message' ? '' : `event: ${event.name}\n`
  return `${head}${textOf(event)
    .split(/\r\n|\r|\n/)
    .map(line => `data: ${line}\n`)
    .join('')}\n`
}
