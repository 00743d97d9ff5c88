/** Numbers beyond double precision: a schema's 64-bit bounds, a database key. */
const LONG_NUMBER = /\d{16}/

interface ReviverContext {
  readonly source?: string
}
type SourceReviver = (key: string, value: unknown, context: ReviverContext) => unknown
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON

/** `JSON.parse` for text that is serialized again: numbers that would lose precision keep their original text. */
export function parseExact(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text)
  const keep: SourceReviver = (_key, value, context) =>
    typeof value === 'number' && context.source !== undefined && String(value) !== context.source
      ? rawJson(context.source)
      : value
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown)
}

const { isRawJSON } = JSON as unknown as { isRawJSON(value: unknown): boolean }

/** Whether `parseExact` kept the number's original text. */
export function isExactNumber(value: unknown): boolean {
  return isRawJSON(value)
}
