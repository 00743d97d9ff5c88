import { cellsOf, cut, pad, padRow, type Row, rowInAscii, type Span, span, wrap } from '../terminal/cells.ts'
import { type Size, typed } from '../terminal/layout.ts'
import { type Browse, chosenIn, type ShownSection, type Surroundings, shownSections } from './browse.ts'
import { duration, sparkline } from './figures.ts'
import { gatewayRow, lostRow, tabsRow, totalsRow } from './header.ts'
import { BINDINGS } from './keys.ts'
import type { Extent } from './press.ts'
import type { ShownRow } from './sections.ts'
import { type TopState, uptimeOf } from './state.ts'
import { tableRows } from './table.ts'

export interface Picture extends Extent {
  /** One fewer than the terminal has, each exactly as wide as the terminal. */
  readonly rows: readonly Row[]
}

/** The screen at any size: on a low terminal, less is shown above the list. */
export function pictureOf(live: TopState, browse: Browse, around: Surroundings, { columns, rows }: Size): Picture {
  const width = Math.max(10, columns)
  // A frame as high as the terminal flickers on some of them.
  const height = Math.max(3, rows - 1)
  const state = browse.paused ?? live
  const sections = shownSections(browse, live)
  const above = [
    ...(height >= 8 ? [live.lost ? lostRow(live.lost.text, width) : gatewayRow(state, around, width)] : []),
    ...(height >= 4 ? [totalsRow(state, width)] : []),
    ...(height >= 6 ? [tabsRow(browse, sections, width)] : []),
    ...(height >= 20 ? [padRow([], width)] : []),
  ]
  const page = height - above.length - 1
  const { lines, shown, visible } = bodyRows(state, browse, sections, width, page)
  const body = Array.from({ length: page }, (_, i) => padRow(shown[i] ?? [], width))
  const all = [...above, ...body, footer(live, browse, around, width)]
  return { rows: around.asciiOnly ? all.map(rowInAscii) : all, lines, page: visible }
}

interface Body {
  readonly shown: readonly Row[]
  /** Lines of the overlay. */
  readonly lines: number
  /** Lines of the list that are visible at once. */
  readonly visible: number
}

function bodyRows(
  state: TopState,
  browse: Browse,
  sections: readonly ShownSection[],
  width: number,
  page: number,
): Body {
  const covering = coverOf(state, browse, sections, width)
  if (covering !== undefined) {
    return { ...windowOf(covering, browse.top, page), lines: covering.length }
  }
  const { shown, index } = chosenIn(browse, sections)
  if (shown === undefined) return { shown: overview(state, browse, sections, width, page), lines: 0, visible: page }
  return { shown: oneSection(shown, index, state, browse, width, page), lines: 0, visible: Math.max(1, page - 1) }
}

/** Indicates when there is more below. */
function windowOf(rows: readonly Row[], top: number, page: number): Pick<Body, 'shown' | 'visible'> {
  if (rows.length <= page) return { shown: rows, visible: page }
  const visible = Math.max(1, page - 1)
  const below = rows.length - top - visible
  const more: Row = below > 0 ? [span(`… ${below} more`, 'dim')] : []
  return { shown: [...rows.slice(top, top + visible), more], visible }
}

function oneSection(
  { section, rows, all }: ShownSection,
  cursor: number,
  state: TopState,
  browse: Browse,
  width: number,
  page: number,
): Row[] {
  if (rows.length === 0) return [[span(cut(all === 0 ? section.empty : 'nothing matches the filter', width), 'dim')]]
  const most = page - 1
  const start = Math.max(0, Math.min(cursor - Math.floor(most / 2), rows.length - most))
  const count = rows.length > most ? `${cursor + 1}/${rows.length}` : ''
  const options = { ...browse, width, count, cursor: rows[cursor]?.key, history: state.history }
  return tableRows(section, rows, rows.slice(start, start + most), options)
}

/** The first rows of each section, as many as fit. */
function overview(
  state: TopState,
  browse: Browse,
  sections: readonly ShownSection[],
  width: number,
  page: number,
): Row[] {
  const filled = sections.filter(({ rows }) => rows.length > 0)
  if (filled.length === 0) {
    const any = sections.some(({ all }) => all > 0)
    return [[span(cut(any ? 'nothing matches the filter' : 'no requests yet', width), 'dim')]]
  }
  const shares = share(
    filled.map(({ rows }) => rows.length),
    page,
  )
  return filled.flatMap(({ section, rows }, i) => {
    const room = shares[i] ?? 0
    if (room === 0) return []
    const count = rows.length > room ? `${room}/${rows.length}` : ''
    const options = { ...browse, width, count, cursor: undefined, history: state.history }
    const table = tableRows(section, rows, rows.slice(0, room), options)
    return i === 0 ? table : [[], ...table]
  })
}

/** Rows for each list: at least two (or none, starting from the end), then the rest is distributed in turn. */
function share(needs: readonly number[], page: number): readonly number[] {
  const shares: number[] = []
  let left = page
  for (const need of needs) {
    const head = shares.length === 0 ? 1 : 2
    const least = Math.min(need, 2)
    if (shares.length > 0 && left < head + least) break
    shares.push(Math.max(0, Math.min(least, left - head)))
    left -= head + least
  }
  while (left > 0) {
    const hungry = shares.flatMap((rows, i) => (rows < (needs[i] as number) ? [i] : []))
    if (hungry.length === 0) break
    for (const i of hungry) {
      if (left <= 0) break
      shares[i] = (shares[i] as number) + 1
      left--
    }
  }
  return shares
}

function coverOf(
  state: TopState,
  browse: Browse,
  sections: readonly ShownSection[],
  width: number,
): readonly Row[] | undefined {
  if (browse.cover === 'help') return helpRows(width)
  const { shown, row } = chosenIn(browse, sections)
  if (browse.cover !== 'row' || shown === undefined || row === undefined) return undefined
  return rowAlone(shown, row, state, width)
}

/** Every column of a row, including those that do not fit in the list. */
function rowAlone({ section }: ShownSection, row: ShownRow, state: TopState, width: number): Row[] {
  const [name, ...columns] = section.columns
  const label = Math.max(...columns.map(({ title }) => cellsOf(title))) + 2
  const facts = columns.flatMap(({ title }, i): Row[] => {
    const { text = '', tone = 'plain' } = row.cells[i + 1] ?? {}
    return text === '' ? [] : [[span(pad(title, label), 'dim'), span(text, tone)]]
  })
  const history = state.history.get(row.key)
  const spark: Row[] = history
    ? [[span(pad('HISTORY', label), 'dim'), span(sparkline(history, width - label), 'info')]]
    : []
  const heading = wrap(`${name?.title} ${row.cells[0]?.text}`, width).map((text): Row => [span(text, 'bold')])
  const details = row.details.map((text): Row => [span(text)])
  return [...heading, ...facts, ...spark, ...(details.length === 0 ? [] : [[], ...details])]
}

function helpRows(width: number): Row[] {
  const keys = Math.max(...BINDINGS.map(({ keys }) => cellsOf(keys))) + 2
  return [
    [span('Keys (Esc goes back)', 'bold')],
    ...BINDINGS.map((binding): Row => [span(pad(binding.keys, keys), 'bold'), span(binding.what)]),
    [],
    ...wrap('Rates are per second since the look before. Latencies are estimates from histograms.', width).map(
      (text): Row => [span(text, 'dim')],
    ),
  ]
}

/** The status, then as many keys as fit. */
function footer(live: TopState, browse: Browse, { interval }: Surroundings, width: number): Row {
  if (browse.typing) return typed('filter: ', browse.filter, width)
  if (browse.note !== undefined) return padRow([span(browse.note, 'bold')], width)
  const status = statusOf(live, browse, interval)
  const left = width - cellsOf(status.text)
  const keys = ['? keys  / filter  r e l n sort  p pause  q quit', '? keys  / filter  q quit', '? keys  q quit']
  const shown = keys.find(text => cellsOf(text) + 2 <= left) ?? ''
  return padRow([status, span(pad(shown, Math.max(0, left), 'right'), 'dim')], width)
}

function statusOf(live: TopState, { paused }: Browse, interval: number): Span {
  const { lost } = live
  if (lost !== undefined) return span(`gone for ${duration((lost.at - lost.since) / 1000)}, trying again`, 'error')
  if (paused !== undefined) return span('paused', 'warn')
  const up = uptimeOf(live)
  if (live.restarted && up !== undefined && up < 60) return span(`restarted ${duration(up)} ago`, 'warn')
  if (!live.measured) return span('measuring')
  return span(`every ${interval < 10_000 ? `${interval / 1000}s` : duration(interval / 1000)}`)
}
