import { decidingStep, type RequestTrace, type Step, type TraceState } from '../events/state.ts'
import type { Quit } from '../terminal/leaving.ts'

export type Pane = 'requests' | 'pipeline' | 'detail'
export const PANES: readonly Pane[] = ['requests', 'pipeline', 'detail']

/** What the detail shows of the chosen step. */
export type DetailView = 'event' | 'state' | 'diff' | 'config' | 'cel'
export const DETAIL_VIEWS: readonly DetailView[] = ['event', 'state', 'diff', 'config', 'cel']

/** The least severity of the steps that are shown: all, warnings and errors, errors. */
export type Severity = 'info' | 'warn' | 'error'
export const SEVERITIES: readonly Severity[] = ['info', 'warn', 'error']
const RANKS = { info: 0, success: 0, warn: 1, error: 2 } as const

/** A line that is being typed, and what it is for. `replay` takes no text: Enter is the answer. */
export interface Prompt {
  readonly kind: 'save' | 'inject' | 'rerun' | 'replay'
  readonly text: string
}

/** What the person wants done besides looking. */
export type Asked =
  | { readonly what: 'copy' | 'test' | 'edit' | 'replay' }
  | { readonly what: 'save' | 'inject' | 'rerun'; readonly text: string }

/** What the person at the keyboard looks at. */
export interface Browse {
  readonly pane: Pane
  /** Key of the chosen request; undefined follows the newest. */
  readonly request: string | undefined
  /** Number of the chosen event; undefined follows the deciding step. */
  readonly step: number | undefined
  readonly view: DetailView
  /** First visible line of the detail, or of the comparison. */
  readonly top: number
  /** The text that each pane looks for: the lists leave out what does not match. */
  readonly filters: Readonly<Record<Pane, string>>
  /** The filter of which pane is being typed. */
  readonly typing: Pane | undefined
  /** The menu of all keys: what is typed to find one, and the chosen line. */
  readonly menu: { readonly filter: string; readonly at: number } | undefined
  readonly prompt: Prompt | undefined
  /** Key of the marked request. */
  readonly marked: string | undefined
  /** Keys of the two requests that are compared. */
  readonly comparing: { readonly left: string; readonly right: string } | undefined
  /** Steps below this are left out. */
  readonly least: Severity
  /** Long lines of the detail go on in the next line; otherwise they are cut. */
  readonly wrap: boolean
  readonly json: boolean
  readonly hex: boolean
  /** Said at the bottom until the next key. */
  readonly note: string | undefined
  /** Whoever does it clears it. */
  readonly asked: Asked | undefined
  /** What was known when the picture was stopped. */
  readonly paused: TraceState | undefined
  readonly quit: Quit | undefined
}

export const FRESH: Browse = {
  pane: 'requests',
  request: undefined,
  step: undefined,
  view: 'event',
  top: 0,
  filters: { requests: '', pipeline: '', detail: '' },
  typing: undefined,
  menu: undefined,
  prompt: undefined,
  marked: undefined,
  comparing: undefined,
  least: 'info',
  wrap: true,
  json: false,
  hex: false,
  note: undefined,
  asked: undefined,
  paused: undefined,
  quit: undefined,
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
  const requests = filtered(all, browse.filters.requests.toLowerCase())
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

/** Three digits are a status where a request has it: a path, or a port, may hold them too. */
function filtered(all: readonly RequestTrace[], wanted: string): readonly RequestTrace[] {
  if (wanted === '') return all
  const answered = /^\d{3}$/.test(wanted) ? all.filter(({ end }) => String(end?.status) === wanted) : []
  return answered.length > 0 ? answered : all.filter(request => requestLine(request).toLowerCase().includes(wanted))
}

function requestLine({ time, method, path, url, end }: RequestTrace): string {
  return `${time} ${method} ${path} ${url} ${end?.status ?? ''}`
}
