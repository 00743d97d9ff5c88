import { cellsOf, cutStart, pad, padRow, type Row, type Span, span } from '../terminal/cells.ts'
import { sparkline } from './figures.ts'
import type { Column, Section, ShownRow, SortKey } from './sections.ts'
import type { History } from './state.ts'

const GAP = '  '
const MARK = '▸ '
/** Recent rates: an additional column that takes the remaining width. */
const HISTORY = { title: 'HISTORY', rank: 45, least: 10, most: 60 } as const

export interface TableOptions {
  readonly width: number
  readonly sort: SortKey | undefined
  readonly reversed: boolean
  /** The number of rows, beside the first title. */
  readonly count: string
  /** Key of the row with the cursor. */
  readonly cursor: string | undefined
  readonly history: ReadonlyMap<string, History>
}

/** Space for the number of rows beside the first title. */
const COUNT = 10

interface Place {
  readonly index: number
  readonly column: Column
  readonly width: number
}

/**
 * The head and a line for each of `rows`, exactly as wide as requested. Text columns are sized by `all`, so that they
 * do not move while scrolling.
 */
export function tableRows(
  { columns }: Section,
  all: readonly ShownRow[],
  rows: readonly ShownRow[],
  options: TableOptions,
): Row[] {
  const { width, cursor, history } = options
  const remembered = all.some(({ key }) => history.has(key))
  const { places, historyWidth } = placesFor(columns, all, width - cellsOf(MARK), remembered)
  const head = places.map(({ index, column, width }) =>
    pad(
      index === 0 ? [title(column, options), options.count].join(' ').trim() : title(column, options),
      width,
      column.align,
    ),
  )
  const lines = rows.map((row): Row => {
    const cells = places.flatMap(({ index, column, width }, i): Span[] => {
      const { text = '', tone = 'plain' } = row.cells[index] ?? {}
      return [
        span(i === 0 ? '' : GAP),
        span(pad(column.keepsEnd ? cutStart(text, width) : text, width, column.align), tone),
      ]
    })
    const spark = historyWidth === 0 ? '' : GAP + sparkline(history.get(row.key) ?? [], historyWidth)
    if (row.key !== cursor) return [span(' '.repeat(cellsOf(MARK))), ...cells, span(spark, 'info')]
    return [span(MARK, 'cursor'), ...cells.map(({ text }) => span(text, 'cursor')), span(spark, 'info')]
  })
  const titles = [' '.repeat(cellsOf(MARK)) + head.join(GAP), ...(historyWidth === 0 ? [] : [HISTORY.title])]
  return [[span(titles.join(GAP), 'bold')], ...lines].map(row => padRow(row, width))
}

/** The columns that fit. A name is truncated before another column is dropped, but not below this width. */
function leastName(room: number): number {
  return Math.max(12, Math.min(20, Math.floor(room / 4)))
}

/** `remembered`: there is a history to show beside the columns. */
function placesFor(columns: readonly Column[], all: readonly ShownRow[], room: number, remembered: boolean) {
  const needs = columns.map((column, index) => needOf(column, index, all))
  const kept = needs.flatMap((need, index) =>
    index === 0 || need === undefined ? [] : [{ index, rank: (columns[index] as Column).rank, cells: need }],
  )
  if (remembered) kept.push({ index: -1, rank: HISTORY.rank, cells: HISTORY.least })
  const left = () => kept.reduce((rest, { cells }) => rest - cells - GAP.length, room)
  const wanted = Math.min(needs[0] as number, leastName(room))
  while (kept.length > 0 && left() < wanted) {
    const lowest = kept.reduce((a, b) => (b.rank < a.rank ? b : a))
    kept.splice(kept.indexOf(lowest), 1)
  }
  const name = Math.max(0, Math.min(needs[0] as number, left()))
  const history = kept.find(({ index }) => index === -1)
  const places = [{ index: 0, cells: name }, ...kept.filter(({ index }) => index !== -1)].map(
    ({ index, cells }): Place => ({ index, column: columns[index] as Column, width: cells }),
  )
  return { places, historyWidth: history ? Math.min(HISTORY.most, history.cells + left() - name) : 0 }
}

/** Undefined for a column without values, such as untracked costs. */
function needOf(column: Column, index: number, all: readonly ShownRow[]): number | undefined {
  const texts = all.map(({ cells }) => cellsOf(cells[index]?.text ?? ''))
  if (all.length > 0 && texts.every(cells => cells === 0)) return undefined
  const mark = column.sort ? 1 : 0
  if (column.align === 'right') return Math.max(column.width, column.title.length + mark)
  const longest = Math.max(cellsOf(column.title) + (index === 0 ? COUNT : mark), ...texts)
  return index === 0 ? longest : Math.min(longest, column.width)
}

function title({ title, sort }: Column, { sort: by, reversed }: TableOptions): string {
  return sort !== undefined && sort === by ? `${title}${reversed ? '▲' : '▼'}` : title
}
