import { valueAt } from '../../../config/compile-context.ts'
import { severityOf } from '../../../diagnostics/codes.ts'
import { type Diagnostic, type Finding, formatPath, type Origin, type Path } from '../../../diagnostics/diagnostic.ts'
import type { Source, SourceDocument } from '../../../diagnostics/source.ts'
import { createLines } from '../../../diagnostics/source-text.ts'
import { textOf } from '../../../schema/untyped.ts'
import { labelOf, place } from '../../resources/resource.ts'
import type { From, Origins } from './origins.ts'

/** The translated file as a document whose parts are located in the resources they come from. */
export class TranslatedDocument implements SourceDocument {
  readonly index = 1
  readonly of = 1
  readonly empty = false
  readonly broken = false
  readonly value: unknown
  /** The original findings, in terms of the file. */
  readonly findings: Finding[] = []
  readonly #origins: Origins
  readonly #file: string
  readonly #lazy: boolean

  /** `lazy`: few of the locations that the compiler requests are ever used. */
  constructor(value: unknown, origins: Origins, file: string, lazy = false) {
    this.value = value
    this.#origins = origins
    this.#file = file
    this.#lazy = lazy
  }

  resolve = (finding: Finding): Diagnostic => {
    // An empty message only requests a location.
    if (finding.message !== '') this.findings.push(finding)
    const from = this.#from(finding.path, finding.at)
    if (!from) {
      const { range } = createLines('')
      const { code, message } = finding
      const path = formatPath(finding.path)
      return { code, severity: severityOf(code), message, file: this.#file, range: range(0, 0), path, related: [] }
    }
    // Spans, fixes and related places in the file's text do not apply to the resource's.
    const { span: _span, fix: _fix, related: _related, ...words } = finding
    const at = finding.at === 'key' && typeof from.path.at(-1) === 'string' ? 'key' : 'value'
    return { ...locate(from, words, at), related: (finding.related ?? []).flatMap(this.#related) }
  }

  #related = ({ path, at, message }: NonNullable<Finding['related']>[number]): Diagnostic['related'] => {
    const from = this.#from(path, at)
    if (!from) return []
    const { file, range } = locate(from, { code: 'GW501', message }, at === 'key' ? 'key' : 'value')
    return [{ file, range, message }]
  }

  textAt = (path: Path): string => {
    const from = this.#from(path, 'value')
    // Content of a Secret or ConfigMap is where it belongs.
    if (!from || from.resource.kind.own === undefined) return ''
    const written = valueAt(from.resource.raw, from.path)
    return typeof written === 'object' && written !== null ? '' : textOf(written)
  }

  /** If the resource's part has the same text, the finding refers to that. */
  #from(path: Path, at: Finding['at']): From | undefined {
    const from = this.#origins.at(this.value, path)
    const sought = at === 'key' ? path.at(-1) : onlyLeaf(valueAt(this.value, path))
    if (!from || (typeof sought !== 'string' && typeof sought !== 'number')) return from
    const found = pathsOf(sought, valueAt(from.resource.raw, from.path))
    // Among equal items of a list, the one at the same index.
    const index = path.findLast(step => typeof step === 'number')
    const inner = found.find(each => each.includes(index ?? -1)) ?? found[0]
    return inner ? { ...from, path: [...from.path, ...inner] } : from
  }

  origin = (path: Path): Origin =>
    this.#lazy ? new LazyOrigin(path, this.#fromOf, this.#originOf) : this.#originOf(path)

  #fromOf = (path: Path) => this.#origins.at(this.value, path)

  #originOf = (path: Path): Origin => {
    const from = this.#fromOf(path)
    return from
      ? from.resource.document.origin([...from.resource.path, ...from.path])
      : { file: this.#file, line: 1, col: 1 }
  }
}

/** Resolved on access. */
class LazyOrigin implements Origin {
  readonly #path: Path
  readonly #fromOf: (path: Path) => From | undefined
  readonly #originOf: (path: Path) => Origin

  constructor(path: Path, fromOf: (path: Path) => From | undefined, originOf: (path: Path) => Origin) {
    this.#path = path
    this.#fromOf = fromOf
    this.#originOf = originOf
  }

  get file(): string {
    return this.#originOf(this.#path).file
  }

  get line(): number {
    return this.#originOf(this.#path).line
  }

  get col(): number {
    return this.#originOf(this.#path).col
  }

  get key(): string {
    const from = this.#fromOf(this.#path)
    return from ? `${labelOf(from.resource)} ${formatPath(from.path)}` : ''
  }
}

/** Every leaf of `value` that is `sought`. */
function pathsOf(sought: string | number, value: unknown): Path[] {
  if (value === sought) return [[]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) =>
    pathsOf(sought, item).map(inner => [Array.isArray(value) ? Number(key) : key, ...inner]),
  )
}

/** An object with a single leaf stands for it: a rule for its expression. */
function onlyLeaf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const [only, ...more] = Object.values(value)
  return more.length === 0 ? onlyLeaf(only) : value
}

export function locate(from: From, words: Omit<Finding, 'path' | 'at'>, at: 'key' | 'value' = 'value'): Diagnostic {
  return place(from.resource, { ...words, path: [...from.resource.path, ...from.path], at })
}

export function sourceOf(document: SourceDocument, file: string): Source {
  return { file, text: '', documents: [document], diagnostics: [] }
}
