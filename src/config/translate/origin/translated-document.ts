import { severityOf } from '../../../diagnostics/codes.ts'
import { type Diagnostic, type Finding, formatPath, type Origin, type Path } from '../../../diagnostics/diagnostic.ts'
import type { Source, SourceDocument } from '../../../diagnostics/source.ts'
import { createLines } from '../../../diagnostics/source-text.ts'
import { place } from '../../resources/resource.ts'
import type { From, Origins } from './origins.ts'

/** The translated file as a document whose parts stand at the lines of the resources that made them. */
export class TranslatedDocument implements SourceDocument {
  readonly index = 1
  readonly of = 1
  readonly empty = false
  readonly broken = false
  readonly value: unknown
  /** Findings as they were made, in terms of the file. */
  readonly findings: Finding[] = []
  readonly #origins: Origins
  readonly #file: string

  constructor(value: unknown, origins: Origins, file: string) {
    this.value = value
    this.#origins = origins
    this.#file = file
  }

  resolve = (finding: Finding): Diagnostic => {
    // Without words it only asks for a place.
    if (finding.message !== '') this.findings.push(finding)
    const from = this.#origins.at(this.value, finding.path)
    if (!from) {
      const { range } = createLines('')
      const { code, message } = finding
      const path = formatPath(finding.path)
      return { code, severity: severityOf(code), message, file: this.#file, range: range(0, 0), path, related: [] }
    }
    // What is said of the file's own text (spans, fixes) does not fit the resource's.
    const { span: _span, fix: _fix, related: _related, ...words } = finding
    return locate(from, words)
  }

  origin = (path: Path): Origin => {
    const from = this.#origins.at(this.value, path)
    return from
      ? from.resource.document.origin([...from.resource.path, ...from.path])
      : { file: this.#file, line: 1, col: 1 }
  }
}

export function locate(from: From, words: Omit<Finding, 'path' | 'at'>): Diagnostic {
  return place(from.resource, { ...words, path: [...from.resource.path, ...from.path], at: 'value' })
}

export function sourceOf(document: SourceDocument, file: string): Source {
  return { file, text: '', documents: [document], diagnostics: [] }
}
