/** JSON set out in lines, other text as it is; bytes that are not text are counted, with the first of them in hexadecimal. */
export function textOf(bytes: Buffer): string {
  return jsonLines(plainText(bytes))
}

/** The same, without any change to what is text. */
export function plainText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return `${bytes.length} bytes that are not text: ${bytes.subarray(0, 64).toString('hex')}`
  }
}

/** JSON set out in lines, other text as it is. */
export function jsonLines(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
