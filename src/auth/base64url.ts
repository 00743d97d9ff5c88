/** Whether the text is base64url in the one way in which it may be written: no padding, and no bits left over. */
export function isBase64Url(text: string): boolean {
  return /^[A-Za-z0-9_-]*$/.test(text) && endsClean(text)
}

/** The last character of an incomplete group must not hold bits beyond the last byte: they could be changed at will. */
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

/** The bytes of such a text; undefined when it is none. */
export function bytesOf(text: unknown): Buffer | undefined {
  return typeof text === 'string' && isBase64Url(text) ? Buffer.from(text, 'base64url') : undefined
}
