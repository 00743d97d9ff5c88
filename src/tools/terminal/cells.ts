import { inAscii } from '../../diagnostics/ascii.ts'
import { charWidth, visible } from '../../diagnostics/visible.ts'

/** The emphasis of a piece of text. Whether it is coloured is decided when drawing. */
export type Tone = 'plain' | 'dim' | 'bold' | 'success' | 'warn' | 'error' | 'info' | 'cursor'

export interface Span {
  readonly text: string
  readonly tone: Tone
}

/** One line of the screen. Its spans never contain control characters. */
export type Row = readonly Span[]

export function span(text: string, tone: Tone = 'plain'): Span {
  return { text, tone }
}

export function cellsOf(text: string): number {
  let cells = 0
  for (const char of text) cells += charWidth(char)
  return cells
}

/** Safe to print, and at most `width` cells wide; `…` marks the cut. */
export function cut(text: string, width: number): string {
  const shown = visible(text)
  if (cellsOf(shown) <= width) return shown
  if (width <= 0) return ''
  let out = ''
  let cells = 1
  for (const char of shown) {
    cells += charWidth(char)
    if (cells > width) break
    out += char
  }
  return `${out}…`
}

/** The same, keeping the end. */
export function cutStart(text: string, width: number): string {
  const shown = visible(text)
  if (cellsOf(shown) <= width) return shown
  if (width <= 0) return ''
  const chars = [...shown]
  let cells = 1
  let from = chars.length
  while (from > 0 && cells + charWidth(chars[from - 1] as string) <= width) {
    from--
    cells += charWidth(chars[from] as string)
  }
  return `…${chars.slice(from).join('')}`
}

/** Exactly `width` cells. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const shown = cut(text, width)
  const padding = ' '.repeat(Math.max(0, width - cellsOf(shown)))
  return align === 'left' ? shown + padding : padding + shown
}

/** The spans cut or padded to exactly `width` cells. */
export function padRow(row: Row, width: number): Row {
  const out: Span[] = []
  let left = width
  for (const { text, tone } of row) {
    if (left === 0) return out
    const shown = cut(text, left)
    left -= cellsOf(shown)
    out.push({ text: shown, tone })
  }
  if (left > 0) out.push(span(' '.repeat(left)))
  return out
}

/** `text` in lines of at most `width` cells, broken between words where possible. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap(line => wrapLine(visible(line), width))
}

function wrapLine(text: string, width: number): string[] {
  const lines: string[] = []
  let start = 0
  let space = -1
  let cells = 0
  for (let i = 0; width > 0 && i < text.length; ) {
    const char = String.fromCodePoint(text.codePointAt(i) as number)
    const wider = cells + charWidth(char)
    if (wider <= width || i === start) {
      if (char === ' ') space = i
      cells = wider
      i += char.length
      continue
    }
    // A word longer than half of the line is broken, since the line would be too short otherwise.
    const end = char !== ' ' && space - start > (i - start) / 2 ? space : i
    lines.push(text.slice(start, end))
    start = text[end] === ' ' ? end + 1 : end
    i = start
    cells = 0
  }
  return [...lines, text.slice(start)]
}

export function rowInAscii(row: Row): Row {
  return row.map(({ text, tone }) => ({ text: inAscii(text), tone }))
}
