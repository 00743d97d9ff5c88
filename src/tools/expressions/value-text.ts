import { printableJson } from '../../diagnostics/render/json.ts'

/** As JSON. Bytes are shown as text if possible, secrets are masked. */
export function valueText(value: unknown, secrets: readonly string[]): string {
  return hide(JSON.stringify(plain(value)) ?? 'null', secrets)
}

/** Masks all secrets in the text. */
export function hide(json: string, secrets: readonly string[]): string {
  const hidden = secrets.reduce(
    (text, secret) => text.replaceAll(JSON.stringify(secret).slice(1, -1), '<redacted>'),
    json,
  )
  return printableJson(hidden)
}

/** Converts values without a JSON form. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (Buffer.isBuffer(value)) {
    const text = value.toString()
    return Buffer.from(text).equals(value) ? text : { base64: value.toString('base64') }
  }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
}
