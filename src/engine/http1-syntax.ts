/** Byte classes in an HTTP/1.1 head; for text, one byte per character. */
export const TOKEN = 1
/** RFC 9110 5.5 `field-content` with tab and space. */
export const TEXT = 2
/** Allowed in a request target or an authority: see `isRequestTarget`. */
export const TARGET = 4

const HASH = 35
const BACKSLASH = 92
export const CLASSES = classify()

/** False for empty text, and for characters beyond one byte. */
export function consistsOf(text: string, characters: number): boolean {
  if (text === '') return false
  for (let i = 0; i < text.length; i++) {
    // Characters beyond Latin-1 have no class and cannot be written as a byte.
    if (((CLASSES[text.charCodeAt(i)] as number) & characters) === 0) return false
  }
  return true
}

function classify(): Uint8Array {
  const classes = new Uint8Array(256)
  for (let byte = 0; byte < 256; byte++) {
    const token = /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte))
    const text = byte === 9 || (byte >= 32 && byte !== 127)
    const target = byte > 32 && byte < 127 && byte !== HASH && byte !== BACKSLASH
    classes[byte] = (token ? TOKEN : 0) | (text ? TEXT : 0) | (target ? TARGET : 0)
  }
  return classes
}
