/** JSON set out in lines, other text as it is; bytes that are no text are counted, with the first of them in hexadecimal. */
export function textOf(bytes: Buffer): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return `${bytes.length} bytes that are no text: ${bytes.subarray(0, 64).toString('hex')}`
  }
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
