const MAX_FIELD = 1024

/** The text of one field of a `multipart/form-data` body. Undefined if it is absent or not plain text. */
export function formField(body: Buffer, contentType: string, name: string): string | undefined {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType)
  const mark = boundary?.[1] ?? boundary?.[2]
  if (mark === undefined) return undefined
  const delimiter = Buffer.from(`--${mark}`)
  for (let at = body.indexOf(delimiter); at >= 0; ) {
    const start = at + delimiter.length
    const next = body.indexOf(delimiter, start)
    const end = body.indexOf('\r\n\r\n', start)
    if (next < 0 || end < 0) return undefined
    if (end < next && names(body.toString('latin1', start, end), name)) {
      const value = body.subarray(end + 4, next - 2)
      return value.length > 0 && value.length <= MAX_FIELD ? value.toString('utf8') : undefined
    }
    at = next
  }
  return undefined
}

function names(head: string, name: string): boolean {
  const disposition = /^content-disposition:(.*)$/im.exec(head)?.[1] ?? ''
  return /(?:^|;)\s*name="([^"]*)"/i.exec(disposition)?.[1] === name && !/;\s*filename/i.test(disposition)
}
