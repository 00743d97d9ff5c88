import { isUtf8 } from 'node:buffer'

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const VISIBLE_ASCII = /^[\t\x20-\x7e]*$/
const WIRE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Whether `name` may be a header's name: an HTTP token, no pseudo-header. */
export function isFieldName(name: string): boolean {
  return TOKEN.test(name)
}

/**
 * Text as a header value on the wire, one character per byte; undefined when it holds a control character (a line break
 * would start another header). Text beyond ASCII goes out as UTF-8, unless it already is UTF-8 read from the wire.
 */
export function toFieldValue(text: string): string | undefined {
  if (VISIBLE_ASCII.test(text)) return text
  if (WIRE.test(text) && isUtf8(Buffer.from(text, 'latin1'))) return text
  const wire = Buffer.from(text, 'utf8').toString('latin1')
  return WIRE.test(wire) ? wire : undefined
}
