import { decidingStep, type RequestTrace, type Step, type TraceState } from '../events/state.ts'
import type { Quit } from '../terminal/leaving.ts'

export type Pane = 'requests' | 'pipeline' | 'detail'
export const PANES: readonly Pane[] = ['requests', 'pipeline', 'detail']

/** The view of the selected step. */
export type DetailView = 'event' | 'state' | 'diff' | 'config' | 'cel'
export const DETAIL_VIEWS: readonly DetailView[] = ['event', 'state', 'diff', 'config', 'cel']

/** The minimum severity of the steps shown: all, warnings and errors, errors. */
export type Severity = 'info' | 'warn' | 'error'
export const SEVERITIES: readonly Severity[] = ['info', 'warn', 'error']
const RANKS = { info: 0, success: 0, warn: 1, error: 2 } as const

/** An input line and its purpose. `replay` takes no text: Enter confirms. */
export interface Prompt {
  readonly kind: 'save' | 'inject' | 'rerun' | 'replay'
  readonly text: string
}

/** Actions that the user requests. */
export type Asked =
  | { readonly what: 'copy' | 'test' | 'edit' | 'replay' }
  | { readonly what: 'save' | 'inject' | 'rerun'; readonly text: string }

/** What the user is looking at. */
export interface Browse {
  readonly pane: Pane
  /** Key of the selected request; undefined follows the newest. */
  readonly request: string | undefined
  /** Number of the selected event; undefined follows the deciding step. */
  readonly step: number | undefined
  readonly view: DetailView
  /** First visible line of the detail or the comparison. */
  readonly top: number
  /** The search text of each pane: lists hide what does not match. */
  readonly filters: Readonly<Record<Pane, string>>
  /** The pane whose filter is being typed. */
  readonly typing: Pane | undefined
  /** The menu of all keys: the search text, and the selected line. */
  readonly menu: { readonly filter: string; readonly at: number } | undefined
  readonly prompt: Prompt | undefined
  /** Key of the marked request. */
  readonly marked: string | undefined
  /** Keys of the two compared requests. */
  readonly comparing: { readonly left: string; readonly right: string } | undefined
  /** Steps below this are hidden. */
  readonly least: Severity
  /** Wrap long lines of the detail; otherwise they are cut. */
  readonly wrap: boolean
  readonly json: boolean
  readonly hex: boolean
  /** Shown at the bottom until the next key. */
  readonly note: string | undefined
  /** Cleared by its handler. */
  readonly asked: Asked | undefined
  /** The state at which the picture was paused. */
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

/** What is visible: the filtered lists with their cursors. */
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

/** Three digits search the status: they may also occur in a path or a port. */
function filtered(all: readonly RequestTrace[], wanted: string): readonly RequestTrace[] {
  if (wanted === '') return all
  const answered = /^\d{3}$/.test(wanted) ? all.filter(({ end }) => String(end?.status) === wanted) : []
  return answered.length > 0 ? answered : all.filter(request => requestLine(request).toLowerCase().includes(wanted))
}

function requestLine({ time, method, path, url, end }: RequestTrace): string {
  return `${time} ${method} ${path} ${url} ${end?.status ?? ''}`
}
