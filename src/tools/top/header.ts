import { cellsOf, padRow, type Row, type Span, span } from '../terminal/cells.ts'
import type { Browse, ShownSection, Surroundings } from './browse.ts'
import { bytes, duration, milliseconds, rateInText, sparkline } from './figures.ts'
import type { Totals } from './rates.ts'
import { TOTAL, type TopState, uptimeOf } from './state.ts'

/** A part of a line; parts with the lowest rank are dropped first. */
interface Part {
  readonly rank: number
  readonly part: Span
}

/** Why there is nothing new. */
export function lostRow(text: string, width: number): Row {
  return padRow([span(text, 'error')], width)
}

/** Address, uptime and resources. */
export function gatewayRow(state: TopState, { name }: Surroundings, width: number): Row {
  const up = uptimeOf(state)
  const { workers, memory, processors, connections, synchronized } = state.rates?.total ?? ({} as Partial<Totals>)
  const told = (rank: number, value: number | undefined, text: (value: number) => string): Part[] =>
    value === undefined ? [] : [{ rank, part: span(text(value)) }]
  return fitted(
    [
      { rank: 9, part: span(name, 'bold') },
      ...(synchronized === false ? [{ rank: 9, part: span('changed file refused', 'warn') }] : []),
      ...told(8, up, seconds => `up ${duration(seconds)}`),
      ...told(6, workers, value => counted(value, 'worker')),
      ...told(5, memory, bytes),
      ...told(4, state.measured ? processors : undefined, value => `${Math.round(value * 100)}% cpu`),
      ...told(7, connections, value => counted(value, 'connection')),
    ],
    width,
  )
}

const MIN_HISTORY = 10

export function totalsRow({ rates, history }: TopState, width: number): Row {
  if (rates === undefined) return padRow([], width)
  const { requests, refused, failed, inFlight, p50, p90, p99 } = rates.total
  const values = history.get(TOTAL) ?? []
  const row = fitted(
    [
      { rank: 9, part: span(`${rateInText(requests)} req/s`, 'bold') },
      { rank: 8, part: span(`${rateInText(failed)} 5xx/s`, failed > 0 ? 'error' : 'plain') },
      { rank: 3, part: span(`${rateInText(refused)} 4xx/s`, refused > 0 ? 'warn' : 'plain') },
      ...(inFlight === undefined ? [] : [{ rank: 7, part: span(`${inFlight} in flight`) }]),
      ...(p50 === undefined
        ? []
        : [
            { rank: 5, part: span(`p50 ${milliseconds(p50)}`) },
            { rank: 2, part: span(`p90 ${milliseconds(p90)}`) },
            { rank: 6, part: span(`p99 ${milliseconds(p99)}`) },
          ]),
      { rank: 4, part: span(' '.repeat(MIN_HISTORY), 'info') },
    ],
    width,
  )
  const place = row.findIndex(({ tone }) => tone === 'info')
  if (place === -1) return row
  const before = row.slice(0, place)
  const left = width - before.reduce((sum, { text }) => sum + cellsOf(text), 0)
  return padRow([...before, span(sparkline(values, Math.min(60, left)), 'info')], width)
}

/** As many as fit, separated by two blanks. */
function fitted(parts: readonly Part[], width: number): Row {
  const kept = [...parts]
  const needed = () => kept.reduce((sum, { part }) => sum + cellsOf(part.text) + 2, -2)
  while (kept.length > 1 && needed() > width) {
    kept.splice(
      kept.reduce((least, { rank }, i) => (rank < (kept[least] as Part).rank ? i : least), 0),
      1,
    )
  }
  return padRow(
    kept.flatMap(({ part }, i) => (i === 0 ? [part] : [span('  '), part])),
    width,
  )
}

/** The sections with their keys; titles of hidden sections are dropped first. */
export function tabsRow({ section, filter }: Browse, sections: readonly ShownSection[], width: number): Row {
  const names = [
    { id: 'all', full: '0 All' },
    ...sections.map((each, i) => ({ id: each.section.id, full: `${i + 1} ${each.section.title} ${each.rows.length}` })),
  ]
  const spansOf = (short: boolean): Span[] => {
    const tabs = names.flatMap(({ id, full }) => {
      if (id === section) return [span(`[${full}]`, 'bold')]
      return [span(short ? ` ${full[0]} ` : ` ${full} `, 'dim')]
    })
    return filter === '' ? tabs : [...tabs, span(` /${filter}`, 'info')]
  }
  const full = spansOf(false)
  return padRow(full.reduce((sum, { text }) => sum + cellsOf(text), 0) <= width ? full : spansOf(true), width)
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
