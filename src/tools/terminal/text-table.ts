import type { Paint } from '../../diagnostics/paint.ts'
import { visible } from '../../diagnostics/visible.ts'
import { cellsOf, cutStart, pad } from './cells.ts'

export interface Column {
  readonly title: string
  readonly align: 'left' | 'right'
  /** If it is too long, the end is kept: for keys. */
  readonly keepsEnd?: boolean
}

export interface TableOptions {
  readonly paint: Paint
  /** Terminal width; unset for pipes, where it is unlimited. */
  readonly width?: number
}

const GAP = '  '
/** Minimum cell widths while other columns are wider, and on terminals too narrow for that. */
const MIN_WIDTHS = [8, 3]

/** A table without lines. On a narrow terminal, the widest columns shrink. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  options: TableOptions,
): string {
  const shown = rows.map(row => columns.map((_, i) => visible(row[i] ?? '')))
  const widths = columns.map(({ title }, i) =>
    shown.reduce((widest, row) => Math.max(widest, cellsOf(row[i] as string)), title.length),
  )
  if (options.width !== undefined) narrow(widths, options.width - GAP.length * (columns.length - 1))
  const line = (cells: readonly string[], as: readonly Column[] = columns) =>
    cells
      .map((cell, i) => aligned(cell, widths[i] as number, as[i] as Column))
      .join(GAP)
      .trimEnd()
  const titles = columns.map(({ title }) => title)
  const head = line(
    titles,
    columns.map(column => ({ ...column, keepsEnd: false })),
  )
  return [options.paint.bold(head), ...shown.map(row => line(row))].map(text => `${text}\n`).join('')
}

function narrow(widths: number[], room: number): void {
  for (const least of MIN_WIDTHS) narrowTo(widths, room, least)
}

function narrowTo(widths: number[], room: number, least: number): void {
  let over = widths.reduce((sum, width) => sum + width, 0) - room
  while (over > 0) {
    const widest = widths.indexOf(Math.max(...widths))
    const width = widths[widest] as number
    if (width <= least) return
    const second = Math.max(least, ...widths.filter((_, i) => i !== widest).filter(other => other < width))
    const cut = Math.min(over, Math.max(1, width - second))
    widths[widest] = width - cut
    over -= cut
  }
}

function aligned(text: string, width: number, { align, keepsEnd }: Column): string {
  const cells = cellsOf(text)
  if (cells > width) return pad(keepsEnd ? cutStart(text, width) : text, width, align)
  return align === 'left' ? text + ' '.repeat(width - cells) : ' '.repeat(width - cells) + text
}
