/** The last line of a block: further indented lines follow it, including blank lines in between. */
export function blockEnd(lines: readonly string[], start: number): number {
  const first = lines[start - 1] ?? ''
  const indent = indentOf(first)
  let end = start
  for (let line = start + 1; line <= lines.length; line++) {
    const text = lines[line - 1] ?? ''
    if (/^\s*(?:#|$)/.test(text)) continue
    // List items may be indented as little as their key.
    const item = /^\s*- /.test(text) && !/^\s*- /.test(first)
    if (indentOf(text) < indent || (indentOf(text) === indent && !item)) break
    end = line
  }
  return end
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}
