import { isUtf8 } from 'node:buffer'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const VISIBLE_ASCII = /^[\t\x20-\x7e]*$/
const WIRE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Whether `name` is a valid header name: an HTTP token, not a pseudo-header. */
export function isFieldName(name: string): boolean {
  return TOKEN.test(name)
}

/**
 * Encodes text as a header value, one character per byte; undefined if it contains a control character (a line break
 * would start another header). Non-ASCII text is sent as UTF-8, unless it is UTF-8 read from the wire already.
 */
export function toFieldValue(text: string): string | undefined {
  if (VISIBLE_ASCII.test(text)) return text
  if (WIRE.test(text) && isUtf8(Buffer.from(text, 'latin1'))) return text
  const wire = Buffer.from(text, 'utf8').toString('latin1')
  return WIRE.test(wire) ? wire : undefined
}
