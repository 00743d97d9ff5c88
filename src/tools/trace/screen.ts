import { type Origin, placeText } from '../../diagnostics/diagnostic.ts'
import type { RequestTrace, Step, TraceState } from '../events/state.ts'
import { durationText, eventCount, MARKS } from '../events/steps.ts'
import { cellsOf, cut, pad, padRow, type Row, type Span, span, wrap } from '../terminal/cells.ts'
import { list, type Size, typed } from '../terminal/layout.ts'
import { type Browse, DETAIL_VIEWS, type Pane, type Prompt, shownOf } from './browse.ts'
import { comparisonOf } from './compare.ts'
import { BLIND, detailOf, highlighted, type Lookups, matchesIn } from './detail.ts'
import { TONES } from './event-text.ts'
import { BINDINGS, bindingsFor } from './keys.ts'
import type { Extent } from './press.ts'
import { requestLines, requestRow, requestsTitle } from './request-list.ts'

/** A short status of the connection, with the resulting exit code once it is over. */
export interface StreamStatus {
  readonly text: string
  readonly code: number | undefined
  /** The gateway is lost and being retried. */
  readonly lost?: boolean
}

export interface Picture extends Extent {
  /** One fewer than the terminal has, each exactly as wide as the terminal. */
  readonly rows: readonly Row[]
}

/** The screen. Pure except for `look`, so every size can be tested without a terminal. */
export function pictureOf(
  state: TraceState,
  browse: Browse,
  status: StreamStatus,
  size: Size,
  look: Lookups = BLIND,
): Picture {
  const columns = Math.max(10, size.columns)
  // A frame as high as the terminal flickers on some of them.
  const height = Math.max(3, size.rows - 2)
  const body = bodyPicture(state, browse, status, columns, height, look)
  return { ...body, rows: [...body.rows, footer(state, browse, status, columns)] }
}

function bodyPicture(
  state: TraceState,
  browse: Browse,
  status: StreamStatus,
  columns: number,
  height: number,
  look: Lookups,
): Picture {
  if (browse.menu !== undefined) return menuPicture(browse.menu, columns, height)
  if (browse.comparing !== undefined) {
    const { left, right } = browse.comparing
    const of = (wanted: string) => (browse.paused ?? state).requests.find(({ key }) => key === wanted)
    const [first, second] = [of(left), of(right)]
    if (first !== undefined && second !== undefined) return comparison(first, second, browse, columns, height)
  }
  return panes(state, browse, status, { columns, rows: height }, look)
}

function comparison(left: RequestTrace, right: RequestTrace, browse: Browse, columns: number, height: number): Picture {
  const all = comparisonOf(left, right, browse.wrap ? columns - 4 : 100_000)
  const position = all.length > height - 2 ? ` ${Math.min(all.length, browse.top + height - 2)}/${all.length}` : ''
  const title = `Comparison of ${left.id} and ${right.id}${position}`
  const rows = frame({ title, front: true, width: columns, rows: height, right: 'Esc back' }, () =>
    all.slice(browse.top, browse.top + height - 2),
  )
  return { rows, page: height - 2, lines: all.length, matches: [] }
}

/**
 * Below this size there is room for one pane only; from `told` rows on, the selected step is summarized below the
 * requests.
 */
const ROOM = { columns: 60, rows: 12, told: 8 }

function panes(state: TraceState, browse: Browse, { lost }: StreamStatus, size: Size, look: Lookups): Picture {
  const { columns, rows: height } = size
  const shown = shownOf(browse, state)
  const lined = requestLines(shown.requests, lost === true)
  const small = columns < ROOM.columns || height + 2 < ROOM.rows
  const detailHeight = small ? height : Math.max(5, Math.floor(height * 0.4))
  const detail = detailOf(shown.request, shown.step, { browse, width: columns - 4, look })
  const lines = detail.length
  const front = (pane: Pane) => browse.pane === pane
  const draw: Readonly<Record<Pane, (width: number, rows: number) => Row[]>> = {
    requests: (width, rows) =>
      frame({ title: requestsTitle(state, browse, shown.requests), front: front('requests'), width, rows }, inner =>
        shown.requests.length === 0
          ? wrapped(state.requests.length === 0 ? 'no request yet' : 'no request matches', inner)
          : list(lined, lined.indexOf(shown.request as RequestTrace), rows - 2, line =>
              requestRow(line, inner, browse.marked),
            ),
      ),
    pipeline: (width, rows) =>
      frame({ title: pipelineTitle(browse, shown.request, width - 6), front: front('pipeline'), width, rows }, inner =>
        shown.steps.length === 0 && shown.request !== undefined
          ? wrapped('no step matches', inner)
          : list(shown.steps, shown.steps.indexOf(shown.step as Step), rows - 2, step => stepRow(step, inner)),
      ),
    detail: (width, rows) => {
      const title = shown.step === undefined ? 'Detail' : `Detail: ${shown.step.label}`
      const position = lines > rows - 2 ? ` ${Math.min(lines, browse.top + rows - 2)}/${lines}` : ''
      const search = browse.filters.detail === '' ? '' : ` /${browse.filters.detail}`
      return frame({ title: title + position + search, front: front('detail'), width, rows, right: tabs(browse) }, () =>
        detail.slice(browse.top, browse.top + rows - 2).map(row => highlighted(row, browse.filters.detail)),
      )
    },
  }
  const matches = matchesIn(detail, browse.filters.detail)
  if (small) {
    const told = browse.pane === 'requests' && height >= ROOM.told ? briefly(shown.step, columns) : []
    const rows = height - told.length
    return { rows: [...draw[browse.pane](columns, rows), ...told], page: rows - 2, lines, matches }
  }
  const left = Math.min(48, Math.max(26, Math.floor(columns * 0.34)))
  const upper = height - detailHeight
  const requests = draw.requests(left, upper)
  const pipeline = draw.pipeline(columns - left, upper)
  const rows = requests.map((row, i) => [...row, ...(pipeline[i] as Row)])
  const page = (browse.pane === 'detail' ? detailHeight : upper) - 2
  return { rows: [...rows, ...draw.detail(columns, detailHeight)], page, lines, matches }
}

/** The step's details in two lines, with its location. */
function briefly(step: Step | undefined, columns: number): Row[] {
  if (step === undefined) return []
  const { event, label, text } = step
  const tone = TONES[event.severity]
  const [first = '', ...more] = wrap(`${MARKS[event.severity]} ${label}: ${text}`, columns)
  const [origin] = event.origins
  return [
    [span(pad(first, columns), tone)],
    ...(more.length === 0 ? [] : [[span(pad(more.join(' '), columns), tone)]]),
    ...(origin === undefined ? [] : [[span(pad(nearPlace(origin), columns), 'info')]]),
  ]
}

function tabs({ view }: Browse): string {
  return DETAIL_VIEWS.map((name, i) => (name === view ? `[${i + 1} ${name}]` : `${i + 1} ${name}`)).join(' ')
}

function wrapped(text: string, width: number): Row[] {
  return [[span(cut(text, width), 'dim')]]
}

interface Frame {
  readonly title: string
  readonly front: boolean
  readonly width: number
  readonly rows: number
  /** Right-aligned in the top border, if it fits. */
  readonly right?: string
}

function frame({ title, front, width, rows, right = '' }: Frame, content: (inner: number) => Row[]): Row[] {
  const inner = width - 4
  const tone = front ? 'bold' : 'dim'
  // Without colours, marks around the title show the active pane.
  const name = cut(title, Math.max(0, inner - 2))
  const shown = front ? `[${name}]` : ` ${name} `
  const left = width - 2 - cellsOf(shown)
  const more = right !== '' && left >= cellsOf(right) + 4 ? ` ${right} ─` : ''
  const top = span(`┌${shown}${'─'.repeat(left - cellsOf(more))}${more}┐`, tone)
  const filled = content(inner)
  const body = Array.from(
    { length: rows - 2 },
    (_, i): Row => [span('│ ', tone), ...padRow(filled[i] ?? [], inner), span(' │', tone)],
  )
  return [[top], ...body, [span(`└${'─'.repeat(width - 2)}┘`, tone)]]
}

/** The file name without its folder. */
function nearPlace(origin: Origin): string {
  return origin.line === 0 ? origin.file : placeText({ ...origin, file: baseName(origin.file) })
}

const LABEL = 15
const TIME = 10

function stepRow({ event, label, text }: Step, inner: number): Row {
  const width = inner - 2
  const indent = '  '.repeat(Math.min(event.scope.length, 4))
  const [origin] = event.origins
  const full = origin === undefined || width < 40 ? '' : nearPlace(origin)
  const place = width >= 56 || origin?.line === 0 ? full : full.replace(/^.*(?=:)/, '')
  const shown = cut(place, 24)
  const took = event.from === undefined ? `@${durationText(event.at)}` : durationText(event.at - event.from)
  const time = width >= 44 ? pad(took, TIME, 'right') : ''
  const room = Math.max(0, width - 2 - cellsOf(indent) - cellsOf(time) - (shown === '' ? 0 : cellsOf(shown) + 2) - 1)
  const name = pad(label, Math.min(LABEL, room))
  const rest = room - cellsOf(name) - 1
  return [
    span(`${indent}${MARKS[event.severity]} `, TONES[event.severity]),
    span(name, event.severity === 'info' ? 'plain' : TONES[event.severity]),
    span(rest > 0 ? ` ${pad(text, rest)}` : ''),
    span(shown === '' ? '' : `  ${shown}`, 'info'),
    span(` ${time}`, 'dim'),
  ]
}

/** If not everything fits, the path is truncated rather than the outcome. */
function pipelineTitle(browse: Browse, request: RequestTrace | undefined, width: number): string {
  if (request === undefined) return 'Pipeline'
  const { end } = request
  const outcome =
    end === undefined
      ? request.broken
        ? 'cut off'
        : 'running'
      : `${end.status ?? 'client left'} in ${durationText(end.at)}`
  const lost = request.lost === 0 ? '' : `, ${eventCount(request.lost)} lost`
  const least = browse.least === 'info' ? '' : browse.least === 'warn' ? ', warnings and errors' : ', errors'
  const filter = browse.filters.pipeline === '' ? '' : ` /${browse.filters.pipeline}`
  const rest = `: ${outcome}${lost}${least}${filter}`
  return `${cut([request.method, request.about, request.path].filter(part => part !== '').join(' '), Math.max(12, width - cellsOf(rest)))}${rest}`
}

/** The status, then as many keys as fit. */
function footer(state: TraceState, browse: Browse, status: StreamStatus, columns: number): Row {
  if (browse.prompt !== undefined) return promptRow(browse.prompt, columns)
  if (browse.typing !== undefined) {
    const verb = browse.typing === 'detail' ? 'search' : 'filter'
    return typed(`${verb} ${browse.typing}: `, browse.filters[browse.typing], columns)
  }
  if (browse.note !== undefined) return padRow([span(browse.note, 'bold')], columns)
  const failed = status.code !== undefined && status.code !== 0
  const text = failed ? `exit code ${status.code}: ${status.text}` : status.text
  const spans: Span[] = [span(text, failed ? 'error' : status.lost ? 'warn' : status.code === 0 ? 'success' : 'plain')]
  const lost = state.requests.reduce((sum, request) => sum + request.lost, 0)
  if (lost > 0) spans.push(span(`  ${eventCount(lost)} lost`, 'warn'))
  if (browse.paused !== undefined) {
    const missed = state.requests.length + state.forgotten - browse.paused.requests.length - browse.paused.forgotten
    spans.push(span(`  paused, ${missed} new`, 'warn'))
  }
  const left = columns - spans.reduce((sum, each) => sum + cellsOf(each.text), 0)
  spans.push(span(pad(hints(browse, left - 2), left, 'right'), 'dim'))
  return padRow(spans, columns)
}

/** In display order; the most important ones have the lowest rank. */
const HINTS: readonly (readonly [rank: number, text: string | ((browse: Browse) => string)])[] = [
  [8, '↑↓ move'],
  [7, 'Enter open'],
  [3, '/ filter'],
  [1, '? keys'],
  [4, browse => (browse.request === undefined ? 'F follow:on' : 'F follow:off')],
  [5, 't test'],
  [6, 'y copy'],
  [2, 'q quit'],
]

/** As many as fit. */
function hints(browse: Browse, width: number): string {
  const shown = (most: number) =>
    HINTS.filter(([rank]) => rank <= most)
      .map(([, text]) => (typeof text === 'string' ? text : text(browse)))
      .join('  ')
  for (let most = HINTS.length; most > 0; most--) if (cellsOf(shown(most)) <= width) return shown(most)
  return ''
}

const QUESTIONS = {
  save: 'save the events to: ',
  inject: 'send (METHOD URL and options of curl): ',
  rerun: 'run it through the configuration: ',
  replay: 'send it again? Enter sends, Esc does not: ',
} as const

function promptRow({ kind, text }: Prompt, columns: number): Row {
  if (kind === 'replay') return padRow([span(QUESTIONS.replay, 'bold'), span(text)], columns)
  return typed(QUESTIONS[kind], text, columns)
}

function menuPicture({ filter, at }: { filter: string; at: number }, columns: number, height: number): Picture {
  const found = bindingsFor(filter)
  const keysWidth = Math.max(...BINDINGS.map(({ keys }) => cellsOf(keys))) + 2
  const title = filter === '' ? 'Keys: type to filter, Enter runs, Esc goes back' : `Keys /${filter}`
  const rows = frame({ title, front: true, width: columns, rows: height }, inner =>
    found.length === 0
      ? [[span(cut('no key does that', inner), 'dim')]]
      : list(found, at, height - 2, ({ keys, what }) => [
          span(pad(keys, Math.min(keysWidth, inner - 2)), 'bold'),
          span(pad(what, Math.max(0, inner - 2 - keysWidth))),
        ]),
  )
  return { rows, page: height - 2, lines: 0, matches: [] }
}

function baseName(file: string): string {
  return file.slice(file.lastIndexOf('/') + 1)
}
