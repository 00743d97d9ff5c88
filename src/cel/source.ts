export interface Source {
  readonly text: string
  /** From an offset in `text` to one in the text as written. */
  readonly place: (offset: number) => number
}

/** Writes `.5` as `0.5`, which the library's parser needs; strings and comments are left alone. */
export function completeFractions(written: string): Source {
  if (!/\.[0-9]/.test(written)) return { text: written, place: offset => offset }
  const added: number[] = []
  let text = ''
  let previous = ''
  for (let i = 0; i < written.length; ) {
    const length = skip(written, i)
    if (length > 0) {
      if (!written.startsWith('//', i)) previous = '"'
      text += written.slice(i, i + length)
      i += length
      continue
    }
    const c = written[i] as string
    if (c === '.' && /[0-9]/.test(written[i + 1] ?? '') && !/[\w)\]}"]/.test(previous)) {
      added.push(text.length)
      text += '0'
    }
    if (!/\s/.test(c)) previous = c
    text += c
    i++
  }
  return { text, place: offset => offset - added.filter(at => at < offset).length }
}

/** Length of the string literal or comment that begins at `at`; 0 when there is none. */
function skip(text: string, at: number): number {
  if (text.startsWith('//', at)) {
    const end = text.indexOf('\n', at)
    return (end < 0 ? text.length : end) - at
  }
  const quote = text[at]
  if (quote !== '"' && quote !== "'") return 0
  const raw = /[rR]/.test(text[at - 1] ?? '') && !/\w/.test(text[at - 2] ?? '')
  const mark = text.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote
  let i = at + mark.length
  while (i < text.length && !text.startsWith(mark, i)) i += text[i] === '\\' && !raw ? 2 : 1
  return Math.min(i + mark.length, text.length) - at
}
