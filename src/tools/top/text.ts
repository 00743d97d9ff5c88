import type { Paint } from '../../diagnostics/paint.ts'
import { renderTable } from '../dump/table.ts'
import { rate } from './figures.ts'
import type { Rates } from './rates.ts'
import { SECTIONS } from './sections.ts'

/** One look as text: every section that has something to show. */
export function topText(rates: Rates, options: { readonly paint: Paint; readonly width?: number }): string {
  const { requests, failed, inFlight } = rates.total
  const { paint } = options
  const running = inFlight === undefined ? '' : `, ${inFlight} in flight`
  const head = `${paint.bold(`${rate(requests)} requests/s`)}, ${rate(failed)} failed/s${running}\n`
  const tables = SECTIONS.flatMap(({ columns, rows }) => {
    const cells = rows(rates).map(row => row.cells.map(({ text }) => text))
    const filled = columns.flatMap((_, i) => (cells.some(row => row[i] !== '') ? [i] : []))
    const shown = filled.flatMap(i => columns[i] ?? [])
    return cells.length === 0
      ? []
      : [
          renderTable(
            shown,
            cells.map(row => filled.map(i => row[i] ?? '')),
            options,
          ),
        ]
  })
  const idle = rates.routes.length === 0 ? [`${paint.dim('no request has come yet')}\n`] : []
  return [head, ...idle, ...tables].join('\n')
}
