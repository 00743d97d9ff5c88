import type { Diagnostic, TextEdit } from '../../diagnostics/diagnostic.ts'
import type { Fixed } from '../../diagnostics/render/report.ts'
import { type CheckedTexts, checkTexts, type DocumentOptions, type Text } from '../check-documents.ts'

export type FixLevel = 'safe' | 'all'

export interface FixedTexts {
  /** After the fixes. */
  readonly texts: readonly Text[]
  readonly found: CheckedTexts
  readonly fixed: readonly Fixed[]
}

/** A fix may uncover the next one; this many rounds are enough for any that end. */
const MAX_ROUNDS = 10

/**
 * Applies the fixes of all findings that `wanted` lets through, and those of what is found then, until nothing changes.
 * A round that would break a file's text is taken back, and the file left alone.
 */
export async function fixTexts(
  texts: readonly Text[],
  options: DocumentOptions,
  level: FixLevel,
  wanted: (texts: readonly Text[], diagnostics: readonly Diagnostic[]) => readonly Diagnostic[],
): Promise<FixedTexts> {
  const fixed: Fixed[] = []
  const abandoned = new Set<string>()
  let found = await checkTexts(texts, options)
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const offered = wanted(texts, found.diagnostics).filter(d => isApplicable(d, level, abandoned))
    const chosen = withoutOverlaps(offered)
    if (chosen.length === 0) break
    const next = texts.map(each => ({ ...each, text: applyEdits(each, chosen) }))
    const then = await checkTexts(next, options)
    const worse = new Set(next.filter(({ file }) => breaks(file, found) < breaks(file, then)).map(({ file }) => file))
    for (const file of worse) abandoned.add(file)
    if (worse.size > 0) continue
    fixed.push(
      ...chosen.map(({ code, file, range, fix }) => ({ code, file, line: range.start.line, title: fix!.title })),
    )
    texts = next
    found = then
  }
  return { texts, found, fixed }
}

function isApplicable(d: Diagnostic, level: FixLevel, abandoned: ReadonlySet<string>): boolean {
  if (d.fix === undefined || (level === 'safe' && !d.fix.safe)) return false
  return d.fix.edits.every(edit => !abandoned.has(edit.file))
}

/** Of fixes that touch the same text, the first; the others are offered again in the next round if still due. */
function withoutOverlaps(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const taken: TextEdit[] = []
  return diagnostics.filter(({ fix }) => {
    const free = fix!.edits.every(edit => taken.every(other => !overlap(edit, other)))
    if (free) taken.push(...fix!.edits)
    return free
  })
}

/** Two insertions at one place overlap: their order would be chance. */
function overlap(a: TextEdit, b: TextEdit): boolean {
  if (a.file !== b.file) return false
  const [a0, a1, b0, b1] = [a.range.start.offset, a.range.end.offset, b.range.start.offset, b.range.end.offset]
  return a0 === b0 || (a0 < b1 && b0 < a1)
}

function applyEdits({ file, text }: Text, diagnostics: readonly Diagnostic[]): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const edits = diagnostics.flatMap(d => d.fix!.edits).filter(edit => edit.file === file)
  edits.sort((a, b) => b.range.start.offset - a.range.start.offset)
  return edits.reduce((done, { range, text: by }) => {
    return done.slice(0, range.start.offset) + by.replace(/\r?\n/g, newline) + done.slice(range.end.offset)
  }, text)
}

/** Findings that say that a file's text cannot be read. */
function breaks(file: string, found: CheckedTexts): number {
  return found.diagnostics.filter(d => d.file === file && /^GW00[1-4]$/.test(d.code)).length
}
