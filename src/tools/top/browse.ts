import type { Quit } from '../terminal/leaving.ts'
import { SECTIONS, type Section, type SectionId, type ShownRow, type SortKey } from './sections.ts'
import type { TopState } from './state.ts'

/** Constant for the whole session. */
export interface Surroundings {
  /** The display name of the admin server. */
  readonly name: string
  /** Interval in ms between samples. */
  readonly interval: number
  readonly asciiOnly: boolean
}

/** What the user is looking at. */
export interface Browse {
  /** `all`: the first rows of each section. */
  readonly section: SectionId | 'all'
  readonly sort: SortKey
  readonly reversed: boolean
  readonly filter: string
  readonly typing: boolean
  /** Key of the selected row; undefined for the first one. */
  readonly cursor: string | undefined
  /** An overlay over the list: the details of the selected row, or the keys. */
  readonly cover: 'row' | 'help' | undefined
  /** First visible line of the overlay. */
  readonly top: number
  /** Shown at the bottom until the next key. */
  readonly note: string | undefined
  /** The state at which the picture was paused. */
  readonly paused: TopState | undefined
  readonly quit: Quit | undefined
}

export const FRESH: Browse = {
  section: 'all',
  sort: 'rate',
  reversed: false,
  filter: '',
  typing: false,
  cursor: undefined,
  cover: undefined,
  top: 0,
  note: undefined,
  paused: undefined,
  quit: undefined,
}

/** A section as displayed: filtered and sorted. */
export interface ShownSection {
  readonly section: Section
  readonly rows: readonly ShownRow[]
  /** Number of rows without the filter. */
  readonly all: number
}

export function shownSections(browse: Browse, live: TopState): readonly ShownSection[] {
  const { rates } = browse.paused ?? live
  const wanted = browse.filter.toLowerCase()
  return SECTIONS.map(section => {
    const all = rates === undefined ? [] : section.rows(rates)
    const found = wanted === '' ? all : all.filter(row => textOf(row, section).toLowerCase().includes(wanted))
    return { section, all: all.length, rows: sorted(found, browse) }
  }).filter(({ section, all }) => section.empty !== '' || all > 0)
}

/** The section with the cursor, and the row at it. */
export function chosenIn(browse: Browse, sections: readonly ShownSection[]) {
  const shown = sections.find(({ section }) => section.id === browse.section)
  const index = Math.max(0, shown?.rows.findIndex(({ key }) => key === browse.cursor) ?? 0)
  return { shown, index, row: shown?.rows[index] }
}

/** The text that the filter searches, without numbers. */
function textOf({ cells }: ShownRow, { columns }: Section): string {
  return columns.map(({ align }, i) => (align === 'left' ? cells[i]?.text : '')).join(' ')
}

/** A stable sort. */
function sorted(rows: readonly ShownRow[], { sort, reversed }: Browse): readonly ShownRow[] {
  const direction = (sort === 'name' ? 1 : -1) * (reversed ? -1 : 1)
  return [...rows].sort((a, b) => {
    const [left, right] = [a.order[sort] ?? 0, b.order[sort] ?? 0]
    return left === right ? 0 : left < right ? -direction : direction
  })
}
