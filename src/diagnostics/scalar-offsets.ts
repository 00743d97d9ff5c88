/**
 * The file range of each UTF-16 unit of a scalar's decoded text: `from[i]` to `to[i]` (end exclusive). Built only for
 * the scalar that a finding points into, by decoding it again with offsets.
 */
export interface ScalarOffsets {
  readonly from: readonly number[]
  readonly to: readonly number[]
}

interface Decoded extends ScalarOffsets {
  text: string
  from: number[]
  to: number[]
}

/** Undefined if the decoded text cannot be aligned with the raw text. */
export function scalarOffsets(text: string, start: number, end: number, decoded: string): ScalarOffsets | undefined {
  const raw = text.slice(start, end)
  for (const attempt of decodings(raw)) {
    if (attempt.text !== decoded) continue
    return { from: attempt.from.map(at => at + start), to: attempt.to.map(at => at + start) }
  }
  return undefined
}

/**
 * An explicit indicator (`|2`) is relative to the parent's indentation, which is not in the raw text, so all are tried.
 */
function* decodings(raw: string): Generator<Decoded> {
  switch (raw[0]) {
    case '"':
      yield decodeDoubleQuoted(raw)
      return
    case "'":
      yield decodeFolded(raw, 1, raw.length - 1, true)
      return
    case '|':
    case '>':
      yield decodeBlock(raw)
      if (/^.[-+]?[1-9]/.test(raw)) for (let indent = 1; indent <= 64; indent++) yield decodeBlock(raw, indent)
      return
    default:
      yield decodeFolded(raw, 0, raw.length, false)
  }
}

function emit(out: Decoded, unit: string, from: number, to: number): void {
  for (let i = 0; i < unit.length; i++) {
    out.from.push(from)
    out.to.push(to)
  }
  out.text += unit
}

/** Plain and single-quoted scalars: line breaks are folded, surrounding white space is removed, `''` is one quote. */
function decodeFolded(raw: string, start: number, end: number, quoted: boolean): Decoded {
  const out: Decoded = { text: '', from: [], to: [] }
  let line = start
  let breaks = 0
  let breakFrom = start
  for (;;) {
    const newline = raw.indexOf('\n', line)
    const last = newline < 0 || newline >= end
    let stop = last ? end : newline
    let at = line
    if (line !== start) while (at < stop && isBlank(raw[at]!)) at++
    if (!last) {
      if (raw[stop - 1] === '\r' && stop > line) stop--
      while (stop > at && isBlank(raw[stop - 1]!)) stop--
    }
    if (line === start || at < stop || last) {
      if (line !== start) emit(out, breaks <= 1 ? ' ' : '\n'.repeat(breaks - 1), breakFrom, at)
      for (; at < stop; at++) {
        const width = quoted && raw[at] === "'" && raw[at + 1] === "'" && at + 1 < stop ? 2 : 1
        emit(out, raw[at]!, at, at + width)
        at += width - 1
      }
      breaks = 0
      breakFrom = stop
    }
    if (last) return out
    breaks++
    line = newline + 1
  }
}

const isBlank = (char: string): boolean => char === ' ' || char === '\t'

const ESCAPES: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  N: '\u0085',
  _: '\u00a0',
  L: '\u2028',
  P: '\u2029',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
  '\t': '\t',
}

function decodeDoubleQuoted(raw: string): Decoded {
  const out: Decoded = { text: '', from: [], to: [] }
  const end = raw.length - 1
  let i = 1
  while (i < end) {
    const char = raw[i]!
    if (char === '\\') i = decodeEscape(out, raw, i)
    else if (char === '\n' || (char === '\r' && raw[i + 1] === '\n')) i = foldBreak(out, raw, i, end)
    else if (isBlank(char)) {
      let stop = i
      while (stop < end && isBlank(raw[stop]!)) stop++
      const atBreak = raw[stop] === '\n' || (raw[stop] === '\r' && raw[stop + 1] === '\n')
      if (!atBreak) for (let at = i; at < stop; at++) emit(out, raw[at]!, at, at + 1)
      i = stop
    } else {
      emit(out, char, i, i + 1)
      i++
    }
  }
  return out
}

function decodeEscape(out: Decoded, raw: string, start: number): number {
  const next = raw[start + 1] ?? ''
  const simple = ESCAPES[next]
  if (simple !== undefined) {
    emit(out, simple, start, start + 2)
    return start + 2
  }
  const digits = next === 'x' ? 2 : next === 'u' ? 4 : next === 'U' ? 8 : 0
  if (digits > 0) {
    const code = Number.parseInt(raw.slice(start + 2, start + 2 + digits), 16)
    const stop = start + 2 + digits
    if (code <= 0x10ffff) emit(out, String.fromCodePoint(code), start, stop)
    return stop
  }
  let at = start + 1
  if (raw[at] === '\r' && raw[at + 1] === '\n') at++
  if (raw[at] !== '\n') {
    emit(out, raw.slice(start, start + 2), start, start + 2)
    return start + 2
  }
  at++
  while (isBlank(raw[at] ?? '')) at++
  return at
}

function foldBreak(out: Decoded, raw: string, start: number, end: number): number {
  let breaks = 0
  let at = start
  while (at < end && (isBlank(raw[at]!) || raw[at] === '\n' || raw[at] === '\r')) {
    if (raw[at] === '\r' && raw[at + 1] !== '\n') break
    if (raw[at] === '\n') breaks++
    at++
  }
  emit(out, breaks === 1 ? ' ' : '\n'.repeat(breaks - 1), start, at)
  return at
}

interface BlockLine {
  readonly start: number
  readonly indent: number
  readonly from: number
  readonly to: number
  readonly next: number
}

/** `indent` is given if the header has an indentation indicator; otherwise the first non-empty line sets it. */
function decodeBlock(raw: string, indent?: number): Decoded {
  const out: Decoded = { text: '', from: [], to: [] }
  const headerEnd = raw.indexOf('\n')
  if (headerEnd < 0) return out
  const chomp = /^[|>]\d?([-+])/.exec(raw)?.[1] ?? ''
  const lines = blockLines(raw, headerEnd + 1)
  let contentEnd = lines.length
  while (contentEnd > 0 && lines[contentEnd - 1]!.from === lines[contentEnd - 1]!.to) contentEnd--
  const first = lines.findIndex(line => line.from < line.to)
  const trim = indent ?? (first < 0 ? 0 : lines[first]!.indent)
  for (let i = lines.length - 1; i >= contentEnd; i--)
    if (lines[i]!.indent > trim) contentEnd = Math.max(contentEnd, i + 1)
  if (raw[0] === '|') literalLines(out, raw, lines.slice(0, contentEnd), trim)
  else foldedLines(out, raw, lines.slice(0, contentEnd), trim, Math.max(first, 0))
  const tail = lines[contentEnd - 1]
  if (tail && chomp !== '-') emit(out, '\n', tail.to, tail.next)
  if (chomp === '+') {
    for (const line of lines.slice(contentEnd)) if (line.next > line.to) emit(out, '\n', line.start, line.next)
  }
  return out
}

function blockLines(raw: string, start: number): BlockLine[] {
  const lines: BlockLine[] = []
  for (let line = start; line <= raw.length; ) {
    const newline = raw.indexOf('\n', line)
    const next = newline < 0 ? raw.length : newline + 1
    let to = newline < 0 ? raw.length : newline
    if (to > line && raw[to - 1] === '\r') to--
    let from = line
    while (from < to && raw[from] === ' ') from++
    if (newline >= 0 || line < raw.length) lines.push({ start: line, indent: from - line, from, to, next })
    if (newline < 0) break
    line = next
  }
  return lines
}

function emitLine(out: Decoded, raw: string, line: BlockLine, trim: number): void {
  for (let at = line.start + Math.min(trim, line.indent); at < line.to; at++) emit(out, raw[at]!, at, at + 1)
}

function literalLines(out: Decoded, raw: string, lines: readonly BlockLine[], trim: number): void {
  lines.forEach((line, i) => {
    const before = lines[i - 1]
    if (before) emit(out, '\n', before.to, before.next)
    emitLine(out, raw, line, trim)
  })
}

/** Folding (YAML 1.2 section 8.1.3): breaks between lines of equal indentation become a space. */
function foldedLines(out: Decoded, raw: string, lines: readonly BlockLine[], trim: number, first: number): void {
  let separator = ''
  let from = 0
  let previousDeeper = false
  lines.forEach((line, i) => {
    if (i < first) {
      emitLine(out, raw, line, trim)
      emit(out, '\n', line.to, line.next)
      return
    }
    const deeper = line.indent > trim || raw[line.from] === '\t'
    if (deeper) {
      if (separator === ' ') separator = '\n'
      else if (!previousDeeper && separator === '\n') separator = '\n\n'
    } else if (line.from === line.to) {
      if (separator === '\n') emit(out, '\n', line.start, line.next)
      else separator = '\n'
      return
    }
    emit(out, separator, from, line.start)
    emitLine(out, raw, line, trim)
    separator = deeper ? '\n' : ' '
    previousDeeper = deeper
    from = line.to
  })
}
