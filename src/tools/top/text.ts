import type { Paint } from '../../diagnostics/paint.ts'
import { printableJson } from '../../diagnostics/render/json.ts'
import { renderTable } from '../terminal/text-table.ts'
import { rateInText } from './figures.ts'
import type { Rates } from './rates.ts'
import { SECTIONS, type Section, type ShownRow } from './sections.ts'
import { tableRows } from './table.ts'

interface TextOptions {
  readonly paint: Paint
  /** Terminal width; unset for pipes, where it is unlimited. */
  readonly width?: number
}

/** A sample as a line of JSON. */
export function ratesJson(rates: Rates & { readonly pod?: string | undefined }): string {
  return `${printableJson(JSON.stringify(rates))}\n`
}

/** A sample as text: every section with content. */
export function topText(rates: Rates, options: TextOptions): string {
  const { requests, failed, inFlight } = rates.total
  const { paint, width } = options
  const running = inFlight === undefined ? '' : `, ${inFlight} in flight`
  const head = `${paint.bold(`${rateInText(requests)} requests/s`)}, ${rateInText(failed)} failed/s${running}\n`
  const idle = rates.routes.length === 0 ? [`${paint.dim('no requests yet')}\n`] : []
  const tables = SECTIONS.flatMap(section => {
    const rows = section.rows(rates)
    if (rows.length === 0) return []
    return [width === undefined ? wholeTable(section, rows, paint) : fittedTable(section, rows, width, paint)]
  })
  return [head, ...idle, ...tables].join('\n')
}

function wholeTable({ columns }: Section, rows: readonly ShownRow[], paint: Paint): string {
  const filled = columns.flatMap((_, i) => (rows.some(({ cells }) => cells[i]?.text !== '') ? [i] : []))
  return renderTable(
    filled.flatMap(i => columns[i] ?? []),
    rows.map(({ cells }) => filled.map(i => cells[i]?.text ?? '')),
    { paint },
  )
}

/** As in the view, without a cursor. */
function fittedTable(section: Section, rows: readonly ShownRow[], width: number, paint: Paint): string {
  const margin = 2
  const plain = { sort: undefined, reversed: false, count: '', cursor: undefined, history: new Map() }
  return tableRows(section, rows, rows, { ...plain, width: width + margin })
    .map(row =>
      row
        .map(({ text }) => text)
        .join('')
        .slice(margin)
        .trimEnd(),
    )
    .map((line, i) => `${i === 0 ? paint.bold(line) : line}\n`)
    .join('')
}
