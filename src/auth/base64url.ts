/** Whether the text is canonical base64url: no padding and no leftover bits. */
export function isBase64Url(text: string): boolean {
  return /^[A-Za-z0-9_-]*$/.test(text) && endsClean(text)
}

/** The last character of an incomplete group must not hold bits beyond the last byte, which would be malleable. */
function endsClean(text: string): boolean {
  switch (text.length % 4) {
    case 0:
      return true
    case 2:
      return /[AQgw]$/.test(text)
    case 3:
      return /[AEIMQUYcgkosw048]$/.test(text)
    default:
      return false
  }
}

/** Decodes canonical base64url; undefined for anything else. */
export function bytesOf(text: unknown): Buffer | undefined {
  return typeof text === 'string' && isBase64Url(text) ? Buffer.from(text, 'base64url') : undefined
}
