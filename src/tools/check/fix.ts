import type { Diagnostic, TextEdit } from '../../diagnostics/diagnostic.ts'
import type { Fixed } from '../../diagnostics/render/report.ts'
import { type CheckedTexts, checkTexts, type DocumentOptions, type Text } from './check-documents.ts'

export type FixLevel = 'safe' | 'all'

export interface FixedTexts {
  /** After the fixes. */
  readonly texts: readonly Text[]
  readonly found: CheckedTexts
  readonly fixed: readonly Fixed[]
}

/** A fix may uncover the next one; this many rounds suffice for any sequence that terminates. */
const MAX_ROUNDS = 10
/** Where fixes are tried one by one, each takes a round. */
const MAX_TRIES = 200

/**
 * Applies the fixes of all findings that `wanted` selects, and of those that appear then, until nothing changes. A
 * round that does not improve a file is reverted: its fixes are then tried one by one, and those that do not help are
 * dropped.
 */
export async function fixTexts(
  texts: readonly Text[],
  options: DocumentOptions,
  level: FixLevel,
  wanted: (texts: readonly Text[], diagnostics: readonly Diagnostic[]) => readonly Diagnostic[],
): Promise<FixedTexts> {
  const fixed: Fixed[] = []
  const oneByOne = new Set<string>()
  const rejected = new Set<string>()
  let found = await checkTexts(texts, options)
  for (let round = 0; round < (oneByOne.size > 0 ? MAX_TRIES : MAX_ROUNDS); round++) {
    const offered = wanted(texts, found.diagnostics).filter(d => isApplicable(d, level) && !rejected.has(keyOf(d)))
    const chosen = withoutOverlaps(firstOfEach(offered, oneByOne))
    if (chosen.length === 0) break
    const next = texts.map(each => ({ ...each, text: applyEdits(each, chosen) }))
    const then = await checkTexts(next, options)
    const worse = new Set(next.filter(({ file }) => !isBetter(file, found, then)).map(({ file }) => file))
    const touched = chosen.filter(({ fix }) => fix!.edits.some(edit => worse.has(edit.file)))
    if (touched.length > 0) {
      for (const d of touched) {
        if (oneByOne.has(d.file) || touched.length === 1) rejected.add(keyOf(d))
        oneByOne.add(d.file)
      }
      continue
    }
    fixed.push(
      ...chosen.map(({ code, file, range, fix }) => ({ code, file, line: range.start.line, title: fix!.title })),
    )
    texts = next
    found = then
  }
  return { texts, found, fixed }
}

function isApplicable({ fix }: Diagnostic, level: FixLevel): boolean {
  return fix !== undefined && (fix.safe || level === 'all')
}

/** Identifies a fix independently of changes before it in the file. */
function keyOf({ file, code, path, message, fix }: Diagnostic): string {
  return JSON.stringify([file, code, path, message, fix?.title])
}

function firstOfEach(diagnostics: readonly Diagnostic[], files: ReadonlySet<string>): Diagnostic[] {
  const seen = new Set<string>()
  return diagnostics.filter(({ file }) => !files.has(file) || seen.size !== seen.add(file).size)
}

/** Of overlapping fixes, the first; the others are offered again in the next round if still needed. */
function withoutOverlaps(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const taken: TextEdit[] = []
  return diagnostics.filter(({ fix }) => {
    const free = fix!.edits.every(edit => taken.every(other => !overlap(edit, other)))
    if (free) taken.push(...fix!.edits)
    return free
  })
}

/** Two insertions at one position overlap: their order would be arbitrary. */
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

/**
 * Unchanged, or with fewer errors; without errors, with fewer of the original findings (others may have been hidden).
 */
function isBetter(file: string, before: CheckedTexts, after: CheckedTexts): boolean {
  const [then, now] = [before, after].map(({ diagnostics }) => diagnostics.filter(d => d.file === file))
  const errors = (all: readonly Diagnostic[]) => all.filter(({ severity }) => severity === 'error').length
  const unreadable = (all: readonly Diagnostic[]) => all.some(({ code }) => /^GW00[1-4]$/.test(code))
  // An unreadable text has one finding; its others appear once it can be read.
  if (unreadable(then!)) return !unreadable(now!) || now!.length <= then!.length
  if (unreadable(now!)) return false
  return errors(now!) < errors(then!) || (errors(now!) === errors(then!) && now!.length <= then!.length)
}
