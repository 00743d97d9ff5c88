import type { RequestTrace, Step, TraceState } from '../events/state.ts'
import { edited, type KeyPress } from '../terminal/keyboard.ts'
import { distanceOf } from '../terminal/moves.ts'
import {
  type Browse,
  type DetailView,
  FRESH,
  PANES,
  type Pane,
  type Prompt,
  SEVERITIES,
  type Severity,
  shownOf,
} from './browse.ts'
import { bindingsFor, type Command, commandOf } from './keys.ts'

/** The amount of content, and how much of it fits: lines, and those that match the search. */
export interface Extent {
  /** Visible lines of the active pane. */
  readonly page: number
  /** Lines of the detail or the comparison. */
  readonly lines: number
  /** Lines of the detail that match the search. */
  readonly matches: readonly number[]
}

export function press(before: Browse, key: KeyPress, live: TraceState, extent: Extent): Browse {
  const browse = before.note === undefined ? before : { ...before, note: undefined }
  if (key.name === 'interrupt') return { ...browse, quit: 'interrupted' }
  if (browse.prompt !== undefined) return answer(browse, browse.prompt, key)
  if (browse.typing !== undefined) return type(browse, browse.typing, key, extent)
  if (browse.menu !== undefined) return choose(browse, browse.menu, key, live, extent)
  const command = commandOf(key)
  return command === undefined ? browse : run(browse, command, live, extent)
}

function run(browse: Browse, command: Command, live: TraceState, extent: Extent): Browse {
  const distance = distanceOf(command, extent.page)
  if (distance !== undefined) return move(browse, distance, live, extent)
  if (command === 'back') return back(browse)
  if (command === 'quit') return browse.comparing ? back(browse) : { ...browse, quit: 'asked' }
  if (command === 'menu') return { ...browse, menu: { filter: '', at: 0 } }
  // The comparison covers everything that other keys apply to.
  if (browse.comparing !== undefined) return browse
  return look(browse, command, live, extent) ?? act(browse, command, live)
}

const VIEWS: Partial<Record<Command, DetailView>> = {
  viewEvent: 'event',
  viewState: 'state',
  viewDiff: 'diff',
  viewConfig: 'config',
  viewCel: 'cel',
}

/** Commands that change the view. */
function look(browse: Browse, command: Command, live: TraceState, extent: Extent): Browse | undefined {
  const view = VIEWS[command]
  if (view !== undefined) return { ...browse, view, top: 0 }
  switch (command) {
    case 'nextPane':
      return { ...browse, pane: nextPane(browse.pane, 1) }
    case 'previousPane':
      return { ...browse, pane: nextPane(browse.pane, PANES.length - 1) }
    case 'filter':
      return { ...browse, typing: browse.pane }
    case 'nextMatch':
      return nextMatch(browse, 1, live, extent)
    case 'previousMatch':
      return nextMatch(browse, -1, live, extent)
    case 'severity': {
      const least = SEVERITIES[(SEVERITIES.indexOf(browse.least) + 1) % SEVERITIES.length] as Severity
      return { ...browse, least, step: undefined, top: 0 }
    }
    case 'wrap':
      return { ...browse, wrap: !browse.wrap, top: 0 }
    case 'format':
      return { ...browse, json: !browse.json, top: 0 }
    case 'bytes':
      return { ...browse, hex: !browse.hex, top: 0 }
    case 'pause':
      return { ...browse, paused: browse.paused === undefined ? live : undefined }
    case 'follow': {
      if (browse.request !== undefined) return { ...browse, request: undefined, step: undefined, top: 0 }
      return { ...browse, request: shownOf(browse, live).request?.key }
    }
    default:
      return undefined
  }
}

/** Commands on the selected request. */
function act(browse: Browse, command: Command, live: TraceState): Browse {
  if (command === 'inject') return { ...browse, prompt: { kind: 'inject', text: injection(shownOf(browse, live)) } }
  const { request, step } = shownOf(browse, live)
  if (request === undefined) return { ...browse, note: 'there is no request yet' }
  switch (command) {
    case 'copy':
    case 'edit':
      return step === undefined ? browse : { ...browse, asked: { what: command } }
    case 'test':
      return { ...browse, asked: { what: 'test' } }
    case 'save':
      return { ...browse, prompt: { kind: 'save', text: `trace-${request.id}.jsonl` } }
    case 'rerun':
      return { ...browse, prompt: { kind: 'rerun', text: fileOf(request) } }
    case 'replay':
      // Safe methods need no confirmation.
      if (/^(GET|HEAD|OPTIONS)$/.test(request.method)) return { ...browse, asked: { what: 'replay' } }
      return { ...browse, prompt: { kind: 'replay', text: `${request.method} ${request.path}` } }
    case 'mark': {
      const marked = browse.marked === request.key ? undefined : request.key
      return { ...browse, marked, note: marked ? 'marked: choose another request and press d' : 'not marked any more' }
    }
    case 'compare': {
      const { marked } = browse
      const known = marked !== undefined && (browse.paused ?? live).requests.some(({ key }) => key === marked)
      if (!known) return { ...browse, note: 'mark a request with m first' }
      if (marked === request.key) return { ...browse, note: 'choose another request than the marked one' }
      return { ...browse, comparing: { left: marked, right: request.key }, top: 0 }
    }
    default:
      return browse
  }
}

function nextPane(pane: Pane, by: number): Pane {
  return PANES[(PANES.indexOf(pane) + by) % PANES.length] as Pane
}

/** One level up: out of the comparison, then out of filters and selections, then out of the view. */
function back(browse: Browse): Browse {
  if (browse.comparing !== undefined) return { ...browse, comparing: undefined, top: 0 }
  const { filters, request, step, pane } = browse
  const fresh = pane === 'requests' && request === undefined && step === undefined
  if (fresh && Object.values(filters).every(text => text === '')) return { ...browse, quit: 'asked' }
  return { ...browse, filters: FRESH.filters, pane: 'requests', request: undefined, step: undefined, top: 0 }
}

function injection({ request }: { readonly request: RequestTrace | undefined }): string {
  return request === undefined || request.url === '' ? 'GET http://localhost:' : `${request.method} ${request.url}`
}

/** The file that defines the request's listener or route. */
function fileOf({ steps }: RequestTrace): string {
  return steps.flatMap(({ event }) => event.origins)[0]?.file ?? ''
}

function move(browse: Browse, distance: number, live: TraceState, extent: Extent): Browse {
  if (browse.comparing !== undefined) return scroll(browse, distance, extent)
  const shown = shownOf(browse, live)
  switch (browse.pane) {
    case 'requests': {
      const { index, last } = moved(shown.requests, shown.requests.indexOf(shown.request as RequestTrace), distance)
      // On the last line the cursor follows new entries, as `tail -f` does; elsewhere it stays.
      const request = last ? undefined : shown.requests[index]?.key
      return { ...browse, request, step: undefined, top: 0 }
    }
    case 'pipeline': {
      const { index } = moved(shown.steps, shown.steps.indexOf(shown.step as Step), distance)
      return { ...browse, request: shown.request?.key, step: shown.steps[index]?.event.seq, top: 0 }
    }
    case 'detail':
      return scroll(browse, distance, extent)
  }
}

function scroll(browse: Browse, distance: number, { page, lines }: Extent): Browse {
  const most = Math.max(0, lines - page)
  return { ...browse, top: Math.min(most, Math.max(0, browse.top + distance)) }
}

function moved(list: readonly unknown[], from: number, distance: number): { index: number; last: boolean } {
  const most = Math.max(0, list.length - 1)
  const index = Math.min(most, Math.max(0, from + distance))
  return { index, last: index === most }
}

/** In a filtered list every line is a match; in the detail, the lines that contain the text. */
function nextMatch(browse: Browse, by: 1 | -1, live: TraceState, extent: Extent): Browse {
  const text = browse.filters[browse.pane]
  if (text === '') return { ...browse, note: 'search with / first' }
  if (browse.pane !== 'detail') return move(browse, by, live, extent)
  const { matches } = extent
  const next = by === 1 ? matches.find(line => line > browse.top) : matches.findLast(line => line < browse.top)
  const top = next ?? (by === 1 ? matches[0] : matches.at(-1))
  return top === undefined ? { ...browse, note: `there is no ${text} here` } : { ...browse, top }
}

function type(browse: Browse, pane: Pane, key: KeyPress, { matches }: Extent): Browse {
  const text = browse.filters[pane]
  const set = (value: string) => ({ ...browse, filters: { ...browse.filters, [pane]: value }, top: 0 })
  switch (key.name) {
    case 'enter':
      return { ...browse, typing: undefined, ...(pane === 'detail' ? { top: matches[0] ?? 0 } : {}) }
    case 'escape':
      return { ...set(''), typing: undefined }
    default:
      return set(edited(text, key))
  }
}

function answer(browse: Browse, { kind, text }: Prompt, key: KeyPress): Browse {
  if (key.name === 'escape') return { ...browse, prompt: undefined }
  if (key.name !== 'enter') {
    return kind === 'replay' ? browse : { ...browse, prompt: { kind, text: edited(text, key) } }
  }
  if (kind === 'replay') return { ...browse, prompt: undefined, asked: { what: 'replay' } }
  if (text.trim() === '') return browse
  return { ...browse, prompt: undefined, asked: { what: kind, text: text.trim() } }
}

function choose(browse: Browse, menu: { filter: string; at: number }, key: KeyPress, live: TraceState, extent: Extent) {
  const found = bindingsFor(menu.filter)
  const closed = { ...browse, menu: undefined }
  const to = (at: number) => ({
    ...browse,
    menu: { ...menu, at: Math.min(Math.max(0, at), Math.max(0, found.length - 1)) },
  })
  switch (key.name) {
    case 'escape':
      return closed
    case 'enter': {
      const chosen = found[menu.at]
      return chosen === undefined || chosen.command === 'menu' ? closed : run(closed, chosen.command, live, extent)
    }
    case 'up':
      return to(menu.at - 1)
    case 'down':
      return to(menu.at + 1)
    case 'pageUp':
      return to(menu.at - extent.page)
    case 'pageDown':
      return to(menu.at + extent.page)
    default:
      return { ...browse, menu: { filter: edited(menu.filter, key), at: 0 } }
  }
}
