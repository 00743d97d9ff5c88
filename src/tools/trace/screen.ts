import { type Browse, type Pane, shownOf } from './browse.ts'
import { cellsOf, cut, pad, padRow, type Row, type Span, span } from './cells.ts'
import { detailOf, TONES } from './detail.ts'
import type { RequestTrace, Step, TraceState } from './state.ts'
import { durationText, MARKS } from './steps.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/** The connection in a few words, and the exit code that it will have led to once it is over. */
export interface StreamStatus {
  readonly text: string
  readonly code: number | undefined
}

export interface Picture {
  /** One fewer than the terminal has, each exactly as wide as the terminal. */
  readonly rows: readonly Row[]
  /** For `press`: how many lines the pane in front shows and how many the detail has. */
  readonly page: number
  readonly lines: number
}

/** What the terminal shows: pure, so that every size can be tested without a terminal. */
export function pictureOf(state: TraceState, browse: Browse, status: StreamStatus, size: Size): Picture {
  const columns = Math.max(10, size.columns)
  // A frame as high as the terminal flickers on some of them.
  const height = Math.max(3, size.rows - 2)
  const body = browse.help ? helpPicture(columns, height) : panes(state, browse, columns, height)
  return { ...body, rows: [...body.rows, footer(state, browse, status, columns)] }
}

/** Below this there is room for one pane only. */
const ROOM = { columns: 60, rows: 12 }

function panes(state: TraceState, browse: Browse, columns: number, height: number): Picture {
  const shown = shownOf(browse, state)
  const small = columns < ROOM.columns || height + 2 < ROOM.rows
  const detailHeight = small ? height : Math.max(5, Math.floor(height * 0.4))
  const detail = detailOf(shown.request, shown.step, columns - 4, browse.wrap)
  const lines = detail.length
  const draw: Readonly<Record<Pane, (width: number, rows: number) => Row[]>> = {
    requests: (width, rows) =>
      frame(requestsTitle(state, browse, shown.requests), browse.pane === 'requests', width, rows, inner =>
        list(shown.requests, shown.requests.indexOf(shown.request as RequestTrace), rows - 2, request =>
          requestRow(request, inner),
        ),
      ),
    pipeline: (width, rows) =>
      frame(pipelineTitle(browse, shown.request), browse.pane === 'pipeline', width, rows, inner =>
        list(shown.steps, shown.steps.indexOf(shown.step as Step), rows - 2, step => stepRow(step, inner)),
      ),
    detail: (width, rows) => {
      const title = shown.step === undefined ? 'Detail' : `Detail: ${shown.step.label}`
      const position = lines > rows - 2 ? ` ${Math.min(lines, browse.top + rows - 2)}/${lines}` : ''
      return frame(title + position, browse.pane === 'detail', width, rows, () =>
        detail.slice(browse.top, browse.top + rows - 2),
      )
    },
  }
  if (small) return { rows: draw[browse.pane](columns, height), page: height - 2, lines }
  const left = Math.min(48, Math.max(26, Math.floor(columns * 0.34)))
  const upper = height - detailHeight
  const requests = draw.requests(left, upper)
  const pipeline = draw.pipeline(columns - left, upper)
  const rows = requests.map((row, i) => [...row, ...(pipeline[i] as Row)])
  const page = (browse.pane === 'detail' ? detailHeight : upper) - 2
  return { rows: [...rows, ...draw.detail(columns, detailHeight)], page, lines }
}

function frame(title: string, front: boolean, width: number, rows: number, content: (inner: number) => Row[]): Row[] {
  const inner = width - 4
  const tone = front ? 'bold' : 'dim'
  // Without colours, the marks around the title say which pane the keys go to.
  const shown = cut(front ? `[${title}]` : ` ${title} `, inner)
  const top = span(`┌${shown}${'─'.repeat(width - 2 - cellsOf(shown))}┐`, tone)
  const filled = content(inner)
  const body = Array.from(
    { length: rows - 2 },
    (_, i): Row => [span('│ ', tone), ...padRow(filled[i] ?? [], inner), span(' │', tone)],
  )
  return [[top], ...body, [span(`└${'─'.repeat(width - 2)}┘`, tone)]]
}

/** The rows around the cursor that there is room for. */
function list<T>(items: readonly T[], cursor: number, rows: number, draw: (item: T) => Row): Row[] {
  const start = Math.max(0, Math.min(cursor - Math.floor(rows / 2), items.length - rows))
  return items.slice(start, start + rows).map((item, i) => {
    const row = draw(item)
    return start + i === cursor
      ? [span('▸ ', 'cursor'), ...row.map(({ text }) => span(text, 'cursor'))]
      : [span('  '), ...row]
  })
}

function requestRow({ time, method, path, end }: RequestTrace, inner: number): Row {
  const width = inner - 2
  const status = end === undefined ? '…' : String(end.status ?? 'gone')
  const failed = end !== undefined && (end.status === null || end.status >= 500)
  const tone = failed ? 'error' : end !== undefined && (end.status ?? 0) >= 400 ? 'warn' : 'success'
  const clock = width >= 30 && time !== '' ? `${time} ` : ''
  const middle = Math.max(0, width - cellsOf(clock) - 6)
  return [span(clock, 'dim'), span(pad(`${method} ${path}`, middle)), span(pad(status, 5, 'right'), tone), span(' ')]
}

const LABEL = 15
const TIME = 10

function stepRow({ event, label, text }: Step, inner: number): Row {
  const width = inner - 2
  const indent = '  '.repeat(Math.min(event.scope.length, 4))
  const [origin] = event.origins
  const file = width >= 56 ? baseName(origin?.file ?? '') : ''
  const place = origin !== undefined && width >= 40 ? `${file}:${origin.line}` : ''
  const shown = cut(place, 24)
  const took = event.from === undefined ? `@${durationText(event.at)}` : durationText(event.at - event.from)
  const time = width >= 34 ? pad(took, TIME, 'right') : ''
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

function requestsTitle(state: TraceState, browse: Browse, shown: readonly unknown[]): string {
  const all = (browse.paused ?? state).requests.length
  const filter = browse.filters.requests === '' ? '' : ` /${browse.filters.requests}`
  const count = shown.length === all ? String(all) : `${shown.length} of ${all}`
  return `Requests ${count}${state.forgotten === 0 ? '' : ` (${state.forgotten} forgotten)`}${filter}`
}

function pipelineTitle(browse: Browse, request: RequestTrace | undefined): string {
  if (request === undefined) return 'Pipeline'
  const { end } = request
  const outcome = end === undefined ? 'running' : `${end.status ?? 'client left'} in ${durationText(end.at)}`
  const lost = request.lost === 0 ? '' : `, ${request.lost} events lost`
  const least = browse.least === 'info' ? '' : browse.least === 'warn' ? ', warnings and errors' : ', errors'
  const filter = `${least}${browse.filters.pipeline === '' ? '' : ` /${browse.filters.pipeline}`}`
  return `${request.method} ${request.path}: ${outcome}${lost}${filter}`
}

/** What is going on, then the keys, as far as there is room. */
function footer(state: TraceState, browse: Browse, status: StreamStatus, columns: number): Row {
  if (browse.typing !== undefined) {
    return padRow([span(`filter ${browse.typing}: `, 'bold'), span(browse.filters[browse.typing]), span('█')], columns)
  }
  const failed = status.code !== undefined && status.code !== 0
  const text = failed ? `exit code ${status.code}: ${status.text}` : status.text
  const spans: Span[] = [span(text, failed ? 'error' : status.code === 0 ? 'success' : 'plain')]
  if (browse.paused !== undefined) {
    const missed = state.requests.length + state.forgotten - browse.paused.requests.length - browse.paused.forgotten
    spans.push(span(`  paused, ${missed} new`, 'warn'))
  }
  spans.push(span('  ? keys  Tab pane  / filter  p pause  q quit', 'dim'))
  return padRow(spans, columns)
}

const HELP: readonly (readonly [keys: string, what: string])[] = [
  ['j k ↓ ↑', 'next, previous line'],
  ['PgDn PgUp', 'next, previous page'],
  ['g G Home End', 'first, last line; on the last request new ones are followed'],
  ['Tab Enter', 'next pane (Shift-Tab: the one before)'],
  ['/', 'filter the list in front; Enter keeps it, Esc clears it'],
  ['Esc', 'clear the filters and follow the newest request'],
  ['s', 'show all steps, warnings and errors, errors only'],
  ['w', 'wrap or cut long lines of the detail'],
  ['y', 'copy the event as YAML to the clipboard of the terminal'],
  ['t', 'save the request as a test case beside you'],
  ['p', 'pause and resume the picture; events are still recorded'],
  ['q', 'quit'],
  ['Ctrl-C', 'quit with exit code 130'],
]

function helpPicture(columns: number, height: number): Picture {
  const rows = frame('Keys (any key goes back)', true, columns, height, inner =>
    HELP.map(([keys, what]) => [span(pad(keys, 14), 'bold'), span(cut(what, Math.max(0, inner - 14)))]),
  )
  return { rows, page: height - 2, lines: 0 }
}

function baseName(file: string): string {
  return file.slice(file.lastIndexOf('/') + 1)
}
