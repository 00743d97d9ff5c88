/** Formatted JSON, other text as it is; for binary data its size, and the first bytes in hexadecimal. */
export function textOf(bytes: Buffer): string {
  return jsonLines(plainText(bytes))
}

/** The same, with text unchanged. */
export function plainText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return `${bytes.length} bytes that are not text: ${bytes.subarray(0, 64).toString('hex')}`
  }
}

/** Formatted JSON, other text as it is. */
export function jsonLines(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
