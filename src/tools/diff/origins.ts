import type { Path } from '../../diagnostics/diagnostic.ts'
import type { SourceDocument } from '../../diagnostics/source.ts'
import type { Place } from './parts.ts'

/** Finds the lines of a document that define a part of an object. */
export class Places {
  readonly #document: SourceDocument | undefined
  /** Maps and lists by position. Built on demand: equal configurations never need it. */
  #byOrigin: ReadonlyMap<string, readonly Path[]> | undefined

  constructor(document: SourceDocument | undefined) {
    this.#document = document
  }

  originOf({ origin, path, ends, inner, fields }: Place, part: Path): string {
    const document = this.#document
    const known = fields?.get(String(part[0]))
    if (known !== undefined || !document) return known ?? origin
    const found = path ?? (part.length > 0 || inner !== undefined ? this.#find(document, origin, ends) : undefined)
    if (found === undefined) return origin
    const from = inner === 'parent' ? found.slice(0, -1) : [...found, ...(inner ?? [])]
    // An object itself is located at its own key.
    return text(document, part.length === 0 && inner === 'parent' ? found : [...from, ...part])
  }

  #find(document: SourceDocument, origin: string, ends: Place['ends']): Path | undefined {
    this.#byOrigin ??= containersOf(document)
    const all = this.#byOrigin.get(origin) ?? []
    return all.find(path => ends?.(path) ?? true)
  }
}

function containersOf(document: SourceDocument): ReadonlyMap<string, readonly Path[]> {
  const out = new Map<string, Path[]>()
  const walk = (value: unknown, path: Path): void => {
    if (typeof value !== 'object' || value === null) return
    const at = text(document, path)
    const held = out.get(at)
    if (held) held.push(path)
    else out.set(at, [path])
    if (Array.isArray(value)) for (const [i, item] of value.entries()) walk(item, [...path, i])
    else for (const [key, item] of Object.entries(value)) walk(item, [...path, key])
  }
  walk(document.value, [])
  return out
}

function text(document: SourceDocument, path: Path): string {
  const { file, line, col } = document.origin(path)
  return `${file}:${line}:${col}`
}
