type Step = string | number
export interface Mutation {
  readonly what: string
  readonly document: unknown
}

const REPLACEMENTS: readonly unknown[] = [null, true, 0, -1, 1.5, 70_000, '', 'text', [], ['text'], {}, { text: 1 }]

/** Every single change of one value, key or item of a document: another value, one key less, one more, one renamed. */
export function* mutations(document: unknown): Generator<Mutation> {
  for (const path of placesOf(document)) {
    const at = path.join('.')
    for (const value of REPLACEMENTS)
      yield { what: `${at} = ${JSON.stringify(value)}`, document: put(document, path, value) }
    const found = valueAt(document, path)
    if (path.length > 0 && typeof path.at(-1) === 'string')
      yield { what: `${at} removed`, document: put(document, path, undefined) }
    if (typeof found !== 'object' || found === null || Array.isArray(found)) continue
    yield { what: `${at} with one key more`, document: put(document, path, { ...found, extraKey: 1 }) }
    for (const key of Object.keys(found)) {
      const { [key]: moved, ...rest } = found as Record<string, unknown>
      yield { what: `${at} with ${key} misspelt`, document: put(document, path, { ...rest, [`${key}x`]: moved }) }
    }
  }
}

function* placesOf(value: unknown, path: readonly Step[] = []): Generator<readonly Step[]> {
  yield path
  if (typeof value !== 'object' || value === null) return
  const entries: [Step, unknown][] = Array.isArray(value) ? value.map((item, i) => [i, item]) : Object.entries(value)
  for (const [step, item] of entries) yield* placesOf(item, [...path, step])
}

export function valueAt(document: unknown, path: readonly Step[]): unknown {
  return path.reduce<unknown>((value, step) => (value as Record<Step, unknown>)[step], document)
}

/** A copy with `value` at `path`; undefined removes the key. */
export function put(document: unknown, path: readonly Step[], value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (Array.isArray(document)) return document.map((item, i) => (i === step ? put(item, rest, value) : item))
  const copy: Record<Step, unknown> = { ...(document as Record<Step, unknown>) }
  const inner = put(copy[step], rest, value)
  if (inner === undefined) delete copy[step]
  else copy[step] = inner
  return copy
}
