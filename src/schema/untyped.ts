/** A part of a document that has not been decoded. */
export type Fields = Readonly<Record<string, unknown>>

export function asFields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The maps in a list; other items are reported elsewhere. */
export function asItems(value: unknown): readonly Fields[] {
  return asList(value).flatMap(each => {
    const fields = asFields(each)
    return fields ? [fields] : []
  })
}

/** A scalar as text; empty for other types, which are reported elsewhere. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? `${value}` : ''
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
