import { visible } from '../../diagnostics/visible.ts'
import { cellsOf, cut, padRow, type Row, span } from './cells.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/** The rows around the cursor that fit. */
export function list<T>(items: readonly T[], cursor: number, rows: number, draw: (item: T) => Row): Row[] {
  const start = Math.max(0, Math.min(cursor - Math.floor(rows / 2), items.length - rows))
  return items.slice(start, start + rows).map((item, i) => {
    const row = draw(item)
    return start + i === cursor
      ? [span('▸ ', 'cursor'), ...row.map(({ text }) => span(text, 'cursor'))]
      : [span('  '), ...row]
  })
}

/** An input line, of which the end is kept visible. */
export function typed(question: string, text: string, columns: number): Row {
  const asked = cut(question, Math.max(0, columns - 10))
  const room = columns - cellsOf(asked) - 1
  let shown = visible(text)
  while (shown !== '' && cellsOf(shown) > room) shown = [...shown].slice(1).join('')
  return padRow([span(asked, 'bold'), span(shown), span('█')], columns)
}
