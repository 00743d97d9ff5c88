import { Composer, type Document, isScalar, Lexer, type Node, Parser } from 'yaml'
import type { Diagnostic, Finding, Origin, Path } from './diagnostic.ts'
import { originOf, type Placing, placeFinding, placeTextFinding, type TextFinding } from './source-findings.ts'
import { FOREIGN, foreignText } from './source-foreign.ts'
import { explainSyntax } from './source-problems.ts'
import type { ReadOptions } from './source-reading.ts'
import { findTemplate, templateFinding } from './source-template.ts'
import { blankJsonComments, createLines, type Lines } from './source-text.ts'
import { TreeIndex } from './source-tree.ts'
import { MAX_DEPTH, type ReadDocument, readDocument } from './source-value.ts'

export { readText } from './source-text.ts'

export interface SourceOptions {
  /** The variables available to `$NAME`; undefined leaves every `$` as is (Kubernetes resources). */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The result of an unset variable: a `Placeholder` (default), or that and a finding. */
  readonly unset?: 'placeholder' | 'error'
}

export interface SourceDocument {
  /** 1-based. */
  readonly index: number
  readonly of: number
  /** Plain data. Maps have no prototype; an unset variable turns its whole scalar into a `Placeholder`. */
  readonly value: unknown
  /** Only comments and white space. */
  readonly empty: boolean
  /** The text could not be parsed: `value` is undefined, and a diagnostic of the source gives the reason. */
  readonly broken: boolean
  resolve(finding: Finding): Diagnostic
  /** Where the field or list item at `path` is written. */
  origin(path: Path): Origin
  /** The text of the value at `path`, if the document has no text of its own. */
  textAt?(path: Path): string
}

export interface Source {
  readonly file: string
  readonly text: string
  readonly documents: readonly SourceDocument[]
  /** Errors in the text itself (GW0xx) and its variables (GW205). */
  readonly diagnostics: readonly Diagnostic[]
}

/** Parses YAML (or JSON) text: every document's value and the location of everything in it. Never throws. */
export function parseSource(file: string, text: string, options: SourceOptions = {}): Source {
  const yaml = /\.jsonc$/i.test(file) ? blankJsonComments(text) : text
  const lines = createLines(text)
  const parts = split(yaml)
  const read: ReadOptions = { env: options.env, unset: options.unset ?? 'placeholder' }
  const diagnostics: Diagnostic[] = []
  let whole = false
  const documents = parts.map((part, i): SourceDocument => {
    const start = part.start
    const end = parts[i + 1]?.start ?? text.length
    const content = readPart(part, { file, text: yaml, start, end }, read)
    const contentAt = contentStart(yaml, start, end)
    const madeFrom = HELM_SOURCE.exec(yaml.slice(start, contentAt))?.[1]
    const place = { file, text: yaml, lines, index: i + 1, of: parts.length, template: madeFrom }
    for (const finding of content.findings) {
      // Findings about the whole text are reported once.
      const isWhole = finding.code === 'GW004' || finding.message === FOREIGN
      if (isWhole && whole) continue
      whole ||= isWhole
      diagnostics.push(placeTextFinding(finding, place))
    }
    return toDocument(content, {
      ...place,
      root: part.root,
      start: contentAt,
      tree: new TreeIndex(content.targets),
      env: options.env,
    })
  })
  if (diagnostics.length === 0 && documents.every(document => document.empty)) {
    diagnostics.push(emptyFile(file, text, lines))
  }
  return { file, text, documents, diagnostics }
}

/**
 * The same source without its trees, which take several times the memory of its text: they are rebuilt for the first
 * finding that needs a location. Only for sources without variables.
 */
export function withoutTrees({ file, text, documents, diagnostics }: Source): Source {
  let read: Source | undefined
  const again = (index: number) => {
    read ??= parseSource(file, text)
    return read.documents[index - 1]!
  }
  return {
    file,
    text,
    documents: documents.map(({ index, of, value, empty, broken }) => ({
      index,
      of,
      value,
      empty,
      broken,
      resolve: finding => again(index).resolve(finding),
      origin: path => again(index).origin(path),
    })),
    diagnostics,
  }
}

/** One document as the parser sees it. */
interface Part {
  readonly start: number
  readonly root: Node | undefined
  readonly document: Document.Parsed | undefined
  /** The offset where nesting became too deep to continue. */
  readonly tooDeep?: number
}

/** Scalars stay text here (failsafe schema): they are interpreted after variables are expanded. */
const COMPOSE = {
  schema: 'failsafe',
  merge: false,
  resolveKnownTags: false,
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'silent',
} as const

/** One document at a time, so that the parser's data for each is freed before the next. */
function split(text: string): Part[] {
  // Otherwise each line break of an empty file would become a token.
  if (!/\S/.test(text)) return [{ start: 0, root: undefined, document: undefined }]
  const parser = new Parser()
  const composer = new Composer(COMPOSE)
  const parts: Part[] = []
  const take = (documents: Iterable<unknown>): void => {
    for (const document of documents) {
      const parsed = document as Document.Parsed
      parts.push({ start: parsed.range?.[0] ?? 0, root: parsed.contents ?? undefined, document: parsed })
    }
  }
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) take(composer.next(token))
    // Stops before anything recursive meets the nesting. One entry for the document, one for the scalar or key.
    if (parser.stack.length > MAX_DEPTH + 2) {
      const start = parser.stack[0]?.offset ?? 0
      const tooDeep = parser.offset
      take(composer.end(false, text.length))
      parts.push({ start, root: undefined, document: undefined, tooDeep })
      return parts
    }
  }
  for (const token of parser.end()) take(composer.next(token))
  take(composer.end(true, text.length))
  return parts
}

type Content = ReadDocument & { readonly empty: boolean }

interface PartPlace {
  readonly file: string
  readonly text: string
  readonly start: number
  readonly end: number
}

function readPart(part: Part, { file, text, start, end }: PartPlace, options: ReadOptions): Content {
  const nothing = { value: undefined, targets: new Map(), empty: false }
  if (part.tooDeep !== undefined) {
    const at = Math.max(0, part.tooDeep - 1)
    const message = `lists and maps are nested too deeply: more than ${MAX_DEPTH} levels`
    return { ...nothing, broken: true, findings: [{ code: 'GW001', message, start: at, end: at + 1 }] }
  }
  const errors = part.document?.errors ?? []
  if (errors.length > 0) {
    const mistake = explainSyntax(errors, part.root ?? null, text)
    const template = findTemplate(text, start, end, mistake.start)
    const finding = template === undefined ? (foreignText(file, text) ?? mistake) : templateFinding(text, template)
    return { ...nothing, broken: true, findings: [finding] }
  }
  if (part.root === undefined || isNothing(part.root)) {
    return { ...nothing, value: null, broken: false, empty: true, findings: [] }
  }
  return { ...readDocument(part.root, text, options), empty: false }
}

function isNothing(root: Node): boolean {
  return isScalar(root) && root.source === '' && root.type === 'PLAIN' && !root.anchor && !root.tag
}

function toDocument(content: Content, placing: Placing): SourceDocument {
  return {
    index: placing.index,
    of: placing.of,
    value: content.value,
    empty: content.empty,
    broken: content.broken,
    resolve: finding => placeFinding(finding, placing),
    origin: path => originOf(path, placing),
  }
}

/** Helm writes this above each rendered document. */
const HELM_SOURCE = /^# Source: (\S+)\s*$/m

/** Skips `---`, directives, comments and blank lines. */
function contentStart(text: string, start: number, end: number): number {
  const lead = /\uFEFF|---(?=\s|$)|[%#][^\n]*|\s+/y
  let at = start
  while (at < end) {
    lead.lastIndex = at
    if (!lead.test(text)) return at
    at = lead.lastIndex
  }
  return start
}

function emptyFile(file: string, text: string, lines: Lines): Diagnostic {
  const finding: TextFinding = { code: 'GW006', message: 'the file holds no configuration', start: 0, end: 0 }
  return placeTextFinding(finding, { file, text, lines, index: 1, of: 1 })
}
