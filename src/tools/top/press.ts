import { edited, type KeyPress } from '../terminal/keyboard.ts'
import { distanceOf } from '../terminal/moves.ts'
import { type Browse, chosenIn, shownSections } from './browse.ts'
import { type Command, commandOf } from './keys.ts'
import type { SortKey } from './sections.ts'
import type { TopState } from './state.ts'

/** The amount of content, and how much of it fits. */
export interface Extent {
  /** Visible lines of the list or the overlay. */
  readonly page: number
  /** Lines of the overlay. */
  readonly lines: number
}

export function press(before: Browse, key: KeyPress, live: TopState, extent: Extent): Browse {
  const browse = before.note === undefined ? before : { ...before, note: undefined }
  if (key.name === 'interrupt') return { ...browse, quit: 'interrupted' }
  if (browse.typing) return type(browse, key)
  const command = commandOf(key)
  return command === undefined ? browse : run(browse, command, live, extent)
}

const SORTS: Partial<Record<Command, SortKey>> = {
  sortRate: 'rate',
  sortErrors: 'errors',
  sortLatency: 'latency',
  sortName: 'name',
}

function run(browse: Browse, command: Command, live: TopState, extent: Extent): Browse {
  const distance = distanceOf(command, extent.page)
  if (distance !== undefined) return move(browse, distance, live, extent)
  const places = ['all', ...shownSections(browse, live).map(({ section }) => section.id)] as const
  const place = places.find(place => place === command)
  if (place !== undefined) return goTo(browse, place)
  const sort = SORTS[command]
  if (sort !== undefined) return { ...browse, sort, reversed: sort === browse.sort && !browse.reversed }
  switch (command) {
    case 'nextSection':
    case 'previousSection': {
      const by = command === 'nextSection' ? 1 : places.length - 1
      return goTo(browse, places[(places.indexOf(browse.section) + by) % places.length] as Browse['section'])
    }
    case 'open':
      if (browse.section === 'all') return goTo(browse, 'routes')
      return open(browse, live)
    case 'filter':
      return { ...browse, typing: true, cover: undefined }
    case 'pause':
      return { ...browse, paused: browse.paused === undefined ? live : undefined }
    case 'help':
      return { ...browse, cover: browse.cover === 'help' ? undefined : 'help', top: 0 }
    case 'quit':
      return { ...browse, quit: 'asked' }
    default:
      return back(browse)
  }
}

function goTo(browse: Browse, section: Browse['section']): Browse {
  return { ...browse, section, cursor: undefined, cover: undefined }
}

function open(browse: Browse, live: TopState): Browse {
  const { row } = chosenIn(browse, shownSections(browse, live))
  if (browse.cover !== undefined || row === undefined) return { ...browse, cover: undefined }
  return { ...browse, cover: 'row', cursor: row.key, top: 0 }
}

/** From the innermost to the outermost. */
function back(browse: Browse): Browse {
  if (browse.cover !== undefined) return { ...browse, cover: undefined }
  if (browse.filter !== '') return { ...browse, filter: '' }
  if (browse.section !== 'all') return goTo(browse, 'all')
  return { ...browse, quit: 'asked' }
}

function move(browse: Browse, distance: number, live: TopState, { page, lines }: Extent): Browse {
  if (browse.cover !== undefined) {
    const most = Math.max(0, lines - page)
    return { ...browse, top: Math.min(most, Math.max(0, browse.top + distance)) }
  }
  const { shown, index } = chosenIn(browse, shownSections(browse, live))
  if (shown === undefined) return { ...browse, note: 'press 1 to 5 for a list to move in' }
  const most = Math.max(0, shown.rows.length - 1)
  return { ...browse, cursor: shown.rows[Math.min(most, Math.max(0, index + distance))]?.key }
}

function type(browse: Browse, key: KeyPress): Browse {
  if (key.name === 'enter') return { ...browse, typing: false }
  if (key.name === 'escape') return { ...browse, typing: false, filter: '' }
  return { ...browse, filter: edited(browse.filter, key), cursor: undefined }
}
