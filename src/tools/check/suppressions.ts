import { CODES, type Code, severityOf } from '../../diagnostics/codes.ts'
import { type Comment, findComments } from '../../diagnostics/comments.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Suppressed } from '../../diagnostics/render/report.ts'
import { createLines, type Lines } from '../../diagnostics/source-text.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { isCode, NOT_NEGOTIABLE } from './settings.ts'

export interface Sifted {
  readonly kept: readonly Diagnostic[]
  readonly suppressed: readonly Suppressed[]
}

const MARK = 'gwctl-ignore'

/**
 * Applies `# gwctl-ignore CODE: reason`, on the line of the finding or on a line of its own above it, and reports such
 * comments that suppress nothing. The diagnostics are those of one file.
 */
export function applySuppressions(file: string, text: string, diagnostics: readonly Diagnostic[]): Sifted {
  if (!text.includes(MARK)) return { kept: diagnostics, suppressed: [] }
  const lines = createLines(text)
  const kept: Diagnostic[] = []
  const suppressed: Suppressed[] = []
  const suppressions = findComments(file, text).flatMap(comment => read(comment, file, text, lines, kept))
  for (const diagnostic of diagnostics) {
    const match = suppressions.find(each => each.line === diagnostic.range.start.line && each.code === diagnostic.code)
    if (match === undefined) {
      kept.push(diagnostic)
      continue
    }
    match.used = true
    suppressed.push({ diagnostic, kind: 'inSource', reason: match.reason })
  }
  // In a text that cannot be read, most findings are unknown.
  if (!diagnostics.some(d => NOT_NEGOTIABLE.has(d.code))) {
    kept.push(...suppressions.filter(each => !each.used).map(each => unused(each, suppressions, file, lines, text)))
  }
  return { kept, suppressed }
}

interface Suppression {
  readonly code: Code
  readonly reason: string
  /** The line whose findings it suppresses. */
  readonly line: number
  readonly comment: Comment
  used: boolean
}

function read(comment: Comment, file: string, text: string, lines: Lines, problems: Diagnostic[]): Suppression[] {
  const [, rest] = /^(?:#+|\/\/)\s*gwctl-ignore\b(.*)$/.exec(comment.text) ?? []
  if (rest === undefined) return []
  const refuse = (message: string, help: string): Suppression[] => {
    const range = lines.range(comment.start, comment.start + comment.text.length)
    problems.push({ ...diagnostic('GW011', message, file, range), help })
    return []
  }
  const form = `write \`# ${MARK} GW206: reason\``
  const [, list = '', reason = ''] = /^\s+([\w\s,]*?)\s*:\s*(.*)$/.exec(rest) ?? [undefined, rest]
  const names = list.split(/[\s,]+/).filter(name => name !== '')
  if (names.length === 0) return refuse('the suppression names no code', form)
  const unknown = names.find(name => !isCode(name))
  if (unknown !== undefined)
    return refuse(`\`${unknown}\` is not a code of gwctl`, didYouMean(unknown, Object.keys(CODES)) ?? form)
  if (reason === '') return refuse('the suppression gives no reason', `${form}: state the reason for later readers`)
  const firm = names.find(name => NOT_NEGOTIABLE.has(name as Code))
  if (firm !== undefined) return refuse(`${firm} cannot be suppressed`, 'without it nothing could be checked')
  const line = targetLine(comment, text, lines)
  return names.map(name => ({ code: name as Code, reason, line, comment, used: false }))
}

/** Its own line, or if that has only the comment, the next line with other content. */
function targetLine({ start }: Comment, text: string, lines: Lines): number {
  const { line, col } = lines.position(start)
  if (text.slice(start - (col - 1), start).trim() !== '') return line
  let next = line
  for (let at = text.indexOf('\n', start); at >= 0; at = text.indexOf('\n', at + 1)) {
    next++
    const end = text.indexOf('\n', at + 1)
    if (!/^\s*(?:#.*|\/\/.*)?$/.test(text.slice(at + 1, end < 0 ? text.length : end))) return next
  }
  return next
}

function unused(
  suppression: Suppression,
  all: readonly Suppression[],
  file: string,
  lines: Lines,
  text: string,
): Diagnostic {
  const { code, comment } = suppression
  const start = comment.start + Math.max(0, comment.text.indexOf(code))
  const found = diagnostic('GW010', `${code} is not found here, so there is nothing to suppress`, file, {
    start: lines.position(start),
    end: lines.position(start + code.length),
  })
  const alone = all.every(each => each.comment !== comment || !each.used)
  if (!alone) return { ...found, help: 'remove the code from the comment' }
  const edit = { file, range: lines.range(...wholeComment(comment, text)), text: '' }
  return { ...found, help: 'remove the comment', fix: { title: 'remove the comment', safe: true, edits: [edit] } }
}

/** Includes the white space before it, or its line if it is alone on it. */
function wholeComment({ start, text: comment }: Comment, text: string): [number, number] {
  let from = start
  while (from > 0 && (text[from - 1] === ' ' || text[from - 1] === '\t')) from--
  let to = start + comment.length
  if (from === 0 || text[from - 1] === '\n') {
    const newline = text.indexOf('\n', to)
    to = newline < 0 ? text.length : newline + 1
  }
  return [from, to]
}

function diagnostic(code: Code, message: string, file: string, range: Diagnostic['range']): Diagnostic {
  return { code, severity: severityOf(code), message, file, range, path: '', related: [] }
}
