import type { Position, Range } from './diagnostic.ts'

/** Decodes a file, without its byte order mark. UTF-8, and UTF-16 of either byte order. */
export function readText(bytes: Buffer): { text: string } | { problem: 'binary' | 'encoding' } {
  let text: string
  try {
    text = new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes)
  } catch {
    return { problem: bytes.includes(0) ? 'binary' : 'encoding' }
  }
  return text.includes('\0') ? { problem: 'binary' } : { text }
}

/** Encodes text in the encoding of `like`, its original bytes, including a byte order mark if present. */
export function encodeText(text: string, like: Buffer): Buffer {
  const encoding = encodingOf(like)
  const marked = text.startsWith('\ufeff') || !startsWithMark(like) ? text : `\ufeff${text}`
  if (encoding === 'utf-8') return Buffer.from(marked)
  const bytes = Buffer.from(marked, 'utf16le')
  return encoding === 'utf-16be' ? bytes.swap16() : bytes
}

function startsWithMark(bytes: Buffer): boolean {
  const [first, second, third] = bytes
  return (
    (first === 0xff && second === 0xfe) ||
    (first === 0xfe && second === 0xff) ||
    (first === 0xef && second === 0xbb && third === 0xbf)
  )
}

/**
 * By byte order mark, otherwise by the position of the zero byte of a leading ASCII character (YAML 1.2 section 5.2).
 */
function encodingOf(bytes: Buffer): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  if (bytes.length % 2 === 0 && bytes.length >= 4) {
    if (first !== 0 && second === 0 && bytes[2] !== 0 && bytes[3] === 0) return 'utf-16le'
    if (first === 0 && second !== 0 && bytes[2] === 0 && bytes[3] !== 0) return 'utf-16be'
  }
  return 'utf-8'
}

/** Lines and columns of a text; the table is built on first use. */
export interface Lines {
  position(offset: number): Position
  /** Clamped to the text; `end` is never before `start`. */
  range(start: number, end: number): Range
}

export function createLines(text: string): Lines {
  let starts: number[] | undefined
  const position = (offset: number): Position => {
    starts ??= lineStarts(text)
    const at = Math.max(0, Math.min(offset, text.length))
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (starts[middle]! <= at) low = middle
      else high = middle - 1
    }
    return { line: low + 1, col: at - starts[low]! + 1, offset: at }
  }
  return { position, range: (start, end) => ({ start: position(start), end: position(Math.max(start, end)) }) }
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** Replaces comments of a `.jsonc` text by spaces, which preserves all offsets. */
export function blankJsonComments(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"?|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, part =>
    part.startsWith('"') ? part : part.replace(/[^\r\n]/g, ' '),
  )
}

/** The documents of a YAML text, each with its leading line of dashes. */
export function documentsIn(text: string): string[] {
  const out: string[] = []
  let start = 0
  for (let at = text.indexOf('\n---'); at >= 0; at = text.indexOf('\n---', at + 4)) {
    if (!/^\s?$/.test(text.charAt(at + 4))) continue
    out.push(text.slice(start, at + 1))
    start = at + 1
  }
  out.push(text.slice(start))
  return out
}
