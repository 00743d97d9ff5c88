import { decidingStep, type RequestTrace, type Step, type TraceState } from './state.ts'

export type Pane = 'requests' | 'pipeline' | 'detail'

/** The least severity of the steps that are shown: all, warnings and errors, errors. */
export type Severity = 'info' | 'warn' | 'error'
const SEVERITIES: readonly Severity[] = ['info', 'warn', 'error']
const RANKS = { info: 0, success: 0, warn: 1, error: 2 } as const

/** What the person at the keyboard looks at. */
export interface Browse {
  readonly pane: Pane
  /** Key of the chosen request; undefined follows the newest. */
  readonly request: string | undefined
  /** Number of the chosen event; undefined follows the deciding step. */
  readonly step: number | undefined
  /** First visible line of the detail. */
  readonly top: number
  readonly filters: { readonly requests: string; readonly pipeline: string }
  /** The filter of which list is being typed. */
  readonly typing: 'requests' | 'pipeline' | undefined
  readonly help: boolean
  /** Steps below this are left out. */
  readonly least: Severity
  /** Long lines of the detail go on in the next line; otherwise they are cut. */
  readonly wrap: boolean
  /** What the person wants done with what is shown; whoever does it clears it. */
  readonly asked: 'copy' | 'save' | undefined
  /** What was known when the picture was stopped. */
  readonly paused: TraceState | undefined
  readonly quit: 'asked' | 'interrupted' | undefined
}

export const FRESH: Browse = {
  pane: 'requests',
  request: undefined,
  step: undefined,
  top: 0,
  filters: { requests: '', pipeline: '' },
  typing: undefined,
  help: false,
  least: 'info',
  wrap: true,
  asked: undefined,
  paused: undefined,
  quit: undefined,
}

/** A key as the terminal reports it, without its escape sequences. `text` is what a letter or a paste types. */
export type KeyName =
  | 'up'
  | 'down'
  | 'pageUp'
  | 'pageDown'
  | 'home'
  | 'end'
  | 'tab'
  | 'shiftTab'
  | 'enter'
  | 'escape'
  | 'backspace'
  | 'interrupt'
  | 'text'
export interface KeyPress {
  readonly name: KeyName
  readonly text: string
}

/** What is shown right now: the lists after their filters, with their cursors. */
export interface Shown {
  readonly requests: readonly RequestTrace[]
  readonly request: RequestTrace | undefined
  readonly steps: readonly Step[]
  readonly step: Step | undefined
}

export function shownOf(browse: Browse, live: TraceState): Shown {
  const { requests: all } = browse.paused ?? live
  const wanted = browse.filters.requests.toLowerCase()
  const requests = all.filter(request => wanted === '' || requestLine(request).toLowerCase().includes(wanted))
  const request = requests.find(({ key }) => key === browse.request) ?? requests.at(-1)
  const wantedStep = browse.filters.pipeline.toLowerCase()
  const steps = (request?.steps ?? []).filter(
    ({ label, text, event }) =>
      RANKS[event.severity] >= RANKS[browse.least] &&
      (wantedStep === '' || `${label} ${text}`.toLowerCase().includes(wantedStep)),
  )
  const chosen = browse.step === undefined ? undefined : steps.find(({ event }) => event.seq === browse.step)
  return { requests, request, steps, step: chosen ?? (request && decidingStep(request, steps)) }
}

/** `page` is how many lines the pane in front shows, `lines` how many the detail has. */
export function press(
  browse: Browse,
  key: KeyPress,
  live: TraceState,
  size: { readonly page: number; readonly lines: number },
): Browse {
  if (key.name === 'interrupt') return { ...browse, quit: 'interrupted' }
  if (browse.typing !== undefined) return type(browse, browse.typing, key)
  if (browse.help) return key.text === 'q' ? { ...browse, quit: 'asked' } : { ...browse, help: false }
  const distance = distanceOf(key, size.page)
  if (distance !== undefined) return move(browse, distance, live, size)
  switch (key.name) {
    case 'tab':
    case 'enter':
      return { ...browse, pane: PANES[(PANES.indexOf(browse.pane) + 1) % PANES.length] as Pane }
    case 'shiftTab':
      return { ...browse, pane: PANES[(PANES.indexOf(browse.pane) + PANES.length - 1) % PANES.length] as Pane }
    case 'escape':
      return { ...browse, filters: FRESH.filters, request: undefined, step: undefined, top: 0 }
    case 'text':
      return command(browse, key.text, live)
    default:
      return browse
  }
}

const PANES: readonly Pane[] = ['requests', 'pipeline', 'detail']

function command(browse: Browse, text: string, live: TraceState): Browse {
  switch (text) {
    case 'q':
      return { ...browse, quit: 'asked' }
    case '?':
      return { ...browse, help: true }
    case '/':
      return { ...browse, typing: browse.pane === 'requests' ? 'requests' : 'pipeline' }
    case 's':
      return {
        ...browse,
        least: SEVERITIES[(SEVERITIES.indexOf(browse.least) + 1) % 3] as Severity,
        step: undefined,
        top: 0,
      }
    case 'w':
      return { ...browse, wrap: !browse.wrap, top: 0 }
    case 'y':
      return { ...browse, asked: 'copy' }
    case 't':
      return { ...browse, asked: 'save' }
    case 'p':
      return { ...browse, paused: browse.paused === undefined ? live : undefined }
    default:
      return browse
  }
}

/** Lines to move by; infinite for the first and the last one. */
function distanceOf({ name, text }: KeyPress, page: number): number | undefined {
  if (name === 'up' || text === 'k') return -1
  if (name === 'down' || text === 'j') return 1
  if (name === 'pageUp') return -Math.max(1, page - 1)
  if (name === 'pageDown') return Math.max(1, page - 1)
  if (name === 'home' || text === 'g') return Number.NEGATIVE_INFINITY
  if (name === 'end' || text === 'G') return Number.POSITIVE_INFINITY
  return undefined
}

function move(browse: Browse, distance: number, live: TraceState, size: { page: number; lines: number }): Browse {
  const shown = shownOf(browse, live)
  switch (browse.pane) {
    case 'requests': {
      const { index, last } = moved(shown.requests, shown.requests.indexOf(shown.request as RequestTrace), distance)
      // On the last line the cursor goes along with what comes, as `tail -f` does; anywhere else it stays.
      const request = last ? undefined : shown.requests[index]?.key
      return { ...browse, request, step: undefined, top: 0 }
    }
    case 'pipeline': {
      const { index } = moved(shown.steps, shown.steps.indexOf(shown.step as Step), distance)
      return { ...browse, request: shown.request?.key, step: shown.steps[index]?.event.seq, top: 0 }
    }
    case 'detail': {
      const most = Math.max(0, size.lines - size.page)
      return { ...browse, top: Math.min(most, Math.max(0, browse.top + distance)) }
    }
  }
}

function moved(list: readonly unknown[], from: number, distance: number): { index: number; last: boolean } {
  const most = Math.max(0, list.length - 1)
  const index = Math.min(most, Math.max(0, from + distance))
  return { index, last: index === most }
}

function type(browse: Browse, list: 'requests' | 'pipeline', key: KeyPress): Browse {
  const text = browse.filters[list]
  const set = (value: string) => ({ ...browse, filters: { ...browse.filters, [list]: value }, top: 0 })
  switch (key.name) {
    case 'enter':
      return { ...browse, typing: undefined }
    case 'escape':
      return { ...set(''), typing: undefined }
    case 'backspace':
      return set([...text].slice(0, -1).join(''))
    case 'text':
      return set(text + key.text)
    default:
      return browse
  }
}

/** What the filter of the requests looks at. */
export function requestLine({ time, method, path, url, end, id }: RequestTrace): string {
  return `${time} ${method} ${path} ${url} ${end?.status ?? ''} ${id}`
}
