export interface Source {
  readonly text: string
  /** Maps an offset in `text` to one in the written text. */
  readonly place: (offset: number) => number
}

/**
 * Rewrites what the library cannot parse: `.5` as `0.5`, and bytes beyond ASCII, which it would truncate to eight bits,
 * or raw, as escapes. Everything else is unchanged.
 */
export function adaptSource(written: string): Source {
  if (!/\.[0-9]|[bB][rR]?["']/.test(written)) return { text: written, place: offset => offset }
  const grown: (readonly [at: number, by: number])[] = []
  let text = ''
  let previous = ''
  for (let i = 0; i < written.length; ) {
    const length = skip(written, i)
    if (length > 0) {
      const literal = written.slice(i, i + length)
      const [, prefix = ''] = /(?<!\w)([bB][rR]?)$/.exec(text.slice(-3)) ?? []
      const bytes = prefix === '' || literal.startsWith('//') ? undefined : bytesLiteral(prefix, literal)
      if (!literal.startsWith('//')) previous = '"'
      text = bytes === undefined ? text + literal : text.slice(0, -prefix.length) + bytes
      if (bytes !== undefined) grown.push([text.length - 1, bytes.length - literal.length - prefix.length])
      i += length
      continue
    }
    const c = written[i] as string
    if (c === '.' && /[0-9]/.test(written[i + 1] ?? '') && !/[\w)\]}"]/.test(previous)) {
      grown.push([text.length, 1])
      text += '0'
    }
    if (!/\s/.test(c)) previous = c
    text += c
    i++
  }
  return { text, place: offset => grown.reduce((at, [from, by]) => (from < offset ? at - by : at), offset) }
}

/** The literal with its prefix, in the library's form; undefined if it already is. */
function bytesLiteral(prefix: string, literal: string): string | undefined {
  if (prefix.length === 1) {
    if (!/[^\0-\x7f]/.test(literal)) return undefined
    return prefix + literal.replace(/[^\0-\x7f]/gu, escapeBytes)
  }
  const mark = /^("""|'''|"|')/.exec(literal)?.[0].length as number
  return `b"${literal.slice(mark, -mark).replace(/[^A-Za-z0-9 ]/gu, escapeBytes)}"`
}

function escapeBytes(text: string): string {
  return [...Buffer.from(text)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
}

/** Length of the string literal or comment at `at`; 0 if there is none. */
export function skip(text: string, at: number): number {
  if (text.startsWith('//', at)) {
    const end = text.indexOf('\n', at)
    return (end < 0 ? text.length : end) - at
  }
  const quote = text[at]
  if (quote !== '"' && quote !== "'") return 0
  const raw = /(?<!\w)[bB]?[rR]$/.test(text.slice(Math.max(0, at - 3), at))
  const mark = text.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote
  let i = at + mark.length
  while (i < text.length && !text.startsWith(mark, i)) i += text[i] === '\\' && !raw ? 2 : 1
  return Math.min(i + mark.length, text.length) - at
}
