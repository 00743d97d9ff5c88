import type { Range } from './diagnostic.ts'
import type { Paint } from './paint.ts'
import { charWidth, visible, visibleChar } from './visible.ts'

export interface FrameOptions {
  /** Text next to the underline. */
  readonly label?: string | undefined
  /** Width of the line numbers in cells. */
  readonly gutter: number
  /** Width of the source line in cells; longer lines are cropped around the underlined part. */
  readonly width: number
  /** `^` for the mistake, `-` for a related place. */
  readonly mark: '^' | '-'
  /** Also show the line before. */
  readonly context: boolean
}

const TAB = 4

/**
 * Renders the line of `range.start` with the range underlined; a multi-line range is underlined to the end of its first
 * line.
 */
export function frame(text: string, range: Range, options: FrameOptions, paint: Paint): string[] {
  const start = range.start.offset - (range.start.col - 1)
  const line = layOut(lineFrom(text, start))
  const from = line.columns[range.start.col - 1] ?? line.width
  const sameLine = range.end.line === range.start.line
  const to = Math.max(from + 1, sameLine ? (line.columns[range.end.col - 1] ?? line.width) : line.width)
  const shown = cut(line, from, to, options.width)
  const out: string[] = []
  if (options.context && shown.skipped === 0 && start > 0) {
    const before = layOut(lineFrom(text, text.lastIndexOf('\n', start - 2) + 1))
    const first = cut(before, 0, 1, options.width).text
    if (first.trim() !== '') out.push(`${number(range.start.line - 1, options.gutter, paint)} ${first.trimEnd()}`)
  }
  const underline = options.mark.repeat(Math.max(1, shown.to - shown.from))
  const label = options.label === undefined ? '' : ` ${visible(options.label)}`
  const color = options.mark === '^' ? paint.caret : paint.dim
  out.push(`${number(range.start.line, options.gutter, paint)} ${shown.text}`.trimEnd())
  out.push(`${bar(options.gutter, paint)} ${' '.repeat(shown.from)}${color(underline + label)}`)
  return out
}

export function bar(gutter: number, paint: Paint): string {
  return paint.dim(`${' '.repeat(gutter)} |`)
}

function number(line: number, gutter: number, paint: Paint): string {
  return paint.dim(`${String(line).padStart(gutter)} |`)
}

function lineFrom(text: string, start: number): string {
  const newline = text.indexOf('\n', start)
  const line = text.slice(start, newline < 0 ? text.length : newline)
  return line.endsWith('\r') ? line.slice(0, -1) : line
}

/** A line as printed, and the cell at which each UTF-16 unit of its source starts. */
interface Laid {
  readonly cells: readonly { readonly text: string; readonly at: number; readonly width: number }[]
  readonly columns: readonly number[]
  readonly width: number
}

function layOut(line: string): Laid {
  const cells: { text: string; at: number; width: number }[] = []
  const columns: number[] = []
  let at = 0
  for (const char of line) {
    for (let i = 0; i < char.length; i++) columns.push(at)
    const shown =
      char === '\t' ? ' '.repeat(TAB - (at % TAB)) : char === '\ufeff' && columns.length === 1 ? '' : visibleChar(char)
    const width = shown === char ? charWidth(char) : shown.length
    cells.push({ text: shown, at, width })
    at += width
  }
  columns.push(at)
  return { cells, columns, width: at }
}

interface Cut {
  readonly text: string
  readonly from: number
  readonly to: number
  readonly skipped: number
}

/** Crops to at most `width` cells that contain the underlined part, or its beginning. */
function cut(line: Laid, from: number, to: number, width: number): Cut {
  if (line.width <= width) return { text: line.cells.map(cell => cell.text).join(''), from, to, skipped: 0 }
  const wanted = Math.min(to - from, Math.floor(width / 2))
  const lead = Math.min(Math.floor(width / 3), width - 2 - wanted)
  const first = from + wanted < width - 1 ? 0 : Math.min(from - lead, line.width - width + 1)
  const room = first > 0 ? width - 1 : width
  const fits = (cell: Laid['cells'][number], end: number): boolean => cell.at >= first && cell.at + cell.width <= end
  const rest = line.width - first > room
  const end = first + room - (rest ? 1 : 0)
  const cells = line.cells.filter(cell => fits(cell, end))
  const origin = (cells[0]?.at ?? first) - (first > 0 ? 1 : 0)
  const text = (first > 0 ? '…' : '') + cells.map(cell => cell.text).join('') + (rest ? '…' : '')
  return { text, from: Math.max(0, from - origin), to: Math.max(1, Math.min(to, end) - origin), skipped: first }
}
