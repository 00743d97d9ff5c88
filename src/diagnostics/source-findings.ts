import { type Alias, isAlias, isMap, isScalar, type Node } from 'yaml'
import { type Code, severityOf } from './codes.ts'
import { type Diagnostic, type Finding, formatPath, type Origin, type Path, type RelatedPlace } from './diagnostic.ts'
import { scalarOffsets } from './scalar-offsets.ts'
import { expandVariables } from './source-env.ts'
import type { Lines } from './source-text.ts'
import { extent, locate, type Place, type TreeIndex } from './source-tree.ts'

/** A mistake in the text itself, found while parsing: located by offsets instead of a path. */
export interface TextFinding {
  readonly code: Code
  readonly message: string
  readonly start: number
  readonly end: number
  readonly path?: Path
  readonly label?: string
  readonly help?: string
  readonly note?: string
  readonly related?: readonly { readonly message: string; readonly start: number; readonly end: number }[]
  readonly fix?: { readonly title: string; readonly safe: boolean; readonly text: string }
}

/** What locating the findings of one document requires. */
export interface Placing {
  readonly file: string
  readonly text: string
  readonly lines: Lines
  readonly index: number
  readonly of: number
  /** The template that the document was rendered from, if stated. */
  readonly template?: string | undefined
  readonly root: Node | undefined
  /** The offset where the document's text begins. */
  readonly start: number
  readonly tree: TreeIndex
  readonly env: Readonly<Record<string, string | undefined>> | undefined
}

type Span = readonly [start: number, end: number]

export function placeTextFinding(
  finding: TextFinding,
  p: Omit<Placing, 'root' | 'start' | 'tree' | 'env'>,
): Diagnostic {
  const range = p.lines.range(finding.start, finding.end)
  const related = (finding.related ?? []).map(
    (place): RelatedPlace => ({ message: place.message, file: p.file, range: p.lines.range(place.start, place.end) }),
  )
  return {
    code: finding.code,
    severity: severityOf(finding.code),
    message: finding.message,
    file: p.file,
    range,
    path: formatPath(finding.path ?? []),
    ...documentOf(p),
    ...words(finding),
    related,
    ...(finding.fix && {
      fix: {
        title: finding.fix.title,
        safe: finding.fix.safe,
        edits: [{ file: p.file, range, text: finding.fix.text }],
      },
    }),
  }
}

/** Locates a finding: for an alias, its use is underlined, and the place inside the anchor is a related location. */
export function placeFinding(finding: Finding, p: Placing): Diagnostic {
  const target = spanOf(finding, p)
  const range = p.lines.range(...(target.use ? extent(target.use, p.text) : target.span))
  const related: RelatedPlace[] = []
  if (target.use) {
    related.push({
      message: `written here, at anchor \`${target.use.source}\``,
      file: p.file,
      range: p.lines.range(...target.span),
    })
  }
  for (const other of finding.related ?? []) {
    const span = spanOf(other, p).span
    related.push({ message: other.message, file: p.file, range: p.lines.range(...span) })
  }
  return {
    code: finding.code,
    severity: severityOf(finding.code),
    message: finding.message,
    file: p.file,
    range,
    path: formatPath(finding.at === 'parent' && finding.path.at(-1) === '' ? finding.path.slice(0, -1) : finding.path),
    ...documentOf(p),
    ...words(finding),
    related,
    ...fixOf(finding, target.use !== undefined, p),
  }
}

/** The line and column of the field or list item at `path`; for a missing one, where it would belong. */
export function originOf(path: Path, p: Placing): Origin {
  const place = locate(p.root, path, p.tree)
  const offset = place.key?.range?.[0] ?? place.node?.range?.[0] ?? p.start
  const { line, col } = p.lines.position(offset)
  return { file: p.file, line, col }
}

function documentOf({
  index,
  of,
  template,
}: Pick<Placing, 'index' | 'of' | 'template'>): Pick<Diagnostic, 'document' | 'template'> {
  return { ...(of > 1 ? { document: { index, of } } : {}), ...(template === undefined ? {} : { template }) }
}

function words(finding: { label?: string; help?: string; note?: string }): {
  label?: string
  help?: string
  note?: string
} {
  return {
    ...(finding.label !== undefined && { label: finding.label }),
    ...(finding.help !== undefined && { help: finding.help }),
    ...(finding.note !== undefined && { note: finding.note }),
  }
}

interface Target {
  readonly span: Span
  /** The alias through which the place was reached, if any. */
  readonly use: Alias | undefined
}

/** The text that `at` refers to for `path`. */
function spanOf(what: Pick<Finding, 'path' | 'at' | 'span'>, p: Placing): Target {
  const wanted = what.at === 'parent' ? what.path.slice(0, -1) : what.path
  const place = locate(p.root, wanted, p.tree)
  const exists = place.depth === wanted.length
  if (!exists || what.at === 'parent') return { span: headSpan(place, p), use: place.through }
  if (what.at === 'key') {
    if (!place.key) return { span: headSpan(place, p), use: place.through }
    return { span: innerSpan(place.key, what.span, undefined, p), use: place.through }
  }
  if (!place.node) return { span: headSpan(place, p), use: place.through }
  if (!isAlias(place.node)) return { span: innerSpan(place.node, what.span, p.env, p), use: place.through }
  const anchored = p.tree.targets.get(place.node)
  const inner = anchored ? innerSpan(anchored, what.span, p.env, p) : extent(place.node, p.text)
  return { span: inner, use: place.through ?? place.node }
}

/** The key of a map's field; the first line of a list item; the first line of the document. */
function headSpan(place: Place, p: Placing): Span {
  if (place.key) return extent(place.key, p.text)
  if (!place.node) return [p.start, p.start]
  if (place.depth === 0) {
    const start = place.node.range?.[0] ?? p.start
    return [start, start]
  }
  const [start, end] = extent(place.node, p.text)
  const newline = p.text.indexOf('\n', start)
  if (newline < 0 || newline >= end) return [start, end]
  return [start, firstLineEnd(place.node, start, newline, p.text)]
}

/** For a block map, the end of its first field if it fits on the line, otherwise the end of that field's key. */
function firstLineEnd(node: Node, start: number, newline: number, text: string): number {
  const first = isMap(node) && !node.flow ? node.items[0] : undefined
  if (!first) return start + text.slice(start, newline).trimEnd().length
  const valueEnd = first.value ? extent(first.value as Node, text)[1] : 0
  return valueEnd > start && valueEnd <= newline ? valueEnd : extent(first.key as Node, text)[1]
}

/** Part of a scalar; all of it if expansion changed its text, since the offsets no longer apply. */
function innerSpan(node: Node, span: Finding['span'], env: Placing['env'], p: Placing): Span {
  const whole = extent(node, p.text)
  if (span === undefined || !isScalar(node) || typeof node.source !== 'string' || !node.range) return whole
  if (env && expandVariables(node.source, env).changed) return whole
  return scalarSpan(node.range[0], node.range[1], node.source, span, p.text) ?? whole
}

/** Maps a span of decoded text to a span of the file. */
export function scalarSpan(start: number, end: number, decoded: string, span: Span, text: string): Span | undefined {
  const offsets = scalarOffsets(text, start, end, decoded)
  if (!offsets || offsets.from.length === 0) return undefined
  const size = offsets.from.length
  const first = Math.max(0, Math.min(span[0], size))
  const last = Math.max(first, Math.min(span[1], size))
  if (first === size) return [offsets.to[size - 1]!, offsets.to[size - 1]!]
  const from = offsets.from[first]!
  return [from, last === first ? from : Math.max(from, offsets.to[last - 1]!)]
}

/** A replacement edits the text where it is written; within an anchor that affects every use, so it is not safe. */
function fixOf(finding: Finding, inAlias: boolean, p: Placing): Pick<Diagnostic, 'fix'> {
  if (!finding.fix) return {}
  const place = locate(p.root, finding.path, p.tree)
  if (place.depth !== finding.path.length) return {}
  const node = finding.fix.replace === 'key' ? place.key : place.node
  if (!node) return {}
  // A variable's value is not in the file and cannot be fixed there.
  if (finding.fix.replace === 'value' && finding.fix.with !== undefined && hasVariable(node, p)) return {}
  const text = finding.fix.with === undefined ? quoted(node) : scalarText(finding.fix.with)
  if (text === undefined) return {}
  return {
    fix: {
      title: finding.fix.title,
      safe: finding.fix.safe && !inAlias,
      edits: [{ file: p.file, range: p.lines.range(...extent(node, p.text)), text }],
    },
  }
}

function hasVariable(node: Node, { env, text }: Placing): boolean {
  return env !== undefined && text.slice(...extent(node, text)).includes('$')
}

/** A tag would still apply to the quoted text. */
function quoted(node: Node): string | undefined {
  if (!isScalar(node) || node.type !== 'PLAIN' || node.tag !== undefined) return undefined
  return JSON.stringify(node.source)
}

/**
 * YAML text as given, with plain words quoted if YAML would misread them. Leading quotes, `[` and `{` mark YAML text.
 */
function scalarText(text: string): string {
  if (/^["'[{]/.test(text)) return text
  return /^$|^[\s&*!|>@`%#]|^[-?:](?:\s|$)|:(?:\s|$)|\s#|\s$|[,[\]{}\n]/.test(text) ? JSON.stringify(text) : text
}
