/** Connection-specific fields, which HTTP/2 forbids (RFC 9113 section 8.2.2). */
const CONNECTION_FIELDS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

export type Http2Fields = Record<string, string | string[]>

/** Name, value, name, value, after the `pseudo` fields, in the platform's form; `te` may only be `trailers`. */
export function http2Fields(pseudo: Readonly<Record<string, string>>, headers: readonly string[]): Http2Fields {
  // No prototype: a sender may name a field `constructor`.
  const fields: Http2Fields = Object.assign(Object.create(null), pseudo)
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    const value = headers[i + 1]!
    if (CONNECTION_FIELDS.has(name) || name.startsWith(':') || (name === 'te' && value !== 'trailers')) continue
    const before = fields[name]
    if (before === undefined) fields[name] = value
    else if (Array.isArray(before)) before.push(value)
    else fields[name] = [before, value]
  }
  return fields
}
