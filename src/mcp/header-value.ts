/** Header values are visible ASCII with inner spaces; anything else is encoded (MCP 2026-07-28, "Standard headers"). */
const PLAIN = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/
const WRAPPED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

export function encodeHeaderValue(text: string): string {
  return PLAIN.test(text) && !WRAPPED.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

/** Undefined for a value that no text is encoded as. */
export function decodeHeaderValue(value: string): string | undefined {
  const trimmed = value.replace(/^[ \t]+|[ \t]+$/g, '')
  const wrapped = WRAPPED.exec(trimmed)?.[1]
  if (wrapped !== undefined) {
    const bytes = Buffer.from(wrapped, 'base64')
    return bytes.toString('base64') === wrapped ? bytes.toString() : undefined
  }
  return PLAIN.test(trimmed) ? trimmed : undefined
}
