import { hasFailed, type RequestTrace, type TraceState } from '../events/state.ts'
import { MARKS } from '../events/steps.ts'
import { cellsOf, pad, type Row, span } from '../terminal/cells.ts'
import type { Browse } from './browse.ts'

/** A line of the request list: a request, or a gap where the connection was lost. */
export type RequestLine = RequestTrace | 'lost'

/** `lost`: the connection is currently lost. */
export function requestLines(requests: readonly RequestTrace[], lost: boolean): readonly RequestLine[] {
  let stream = requests[0]?.stream ?? 0
  const out = requests.flatMap((request): RequestLine[] => {
    if (request.stream <= stream) return [request]
    stream = request.stream
    return ['lost', request]
  })
  return lost && out.length > 0 ? [...out, 'lost'] : out
}

export function requestsTitle(state: TraceState, browse: Browse, shown: readonly unknown[]): string {
  const all = (browse.paused ?? state).requests.length
  const filter = browse.filters.requests === '' ? '' : ` /${browse.filters.requests}`
  const count = shown.length === all ? String(all) : `${shown.length} of ${all}`
  return `Requests ${count}${state.forgotten === 0 ? '' : ` (${state.forgotten} forgotten)`}${filter}`
}

/** Without the two cells for the cursor. */
export function requestRow(line: RequestLine, inner: number, marked: string | undefined): Row {
  const width = inner - 2
  if (line === 'lost') return [span(pad(`── connection lost ${'─'.repeat(width)}`, width).replace(/…$/, '─'), 'warn')]
  const { time, method, path, about, end, broken, key } = line
  const failed = end === undefined ? broken : hasFailed(end)
  // Must also work without colours.
  const mark = failed && (end?.status ?? 500) < 400 ? MARKS.error : ''
  const status = end !== undefined ? `${end.status ?? 'gone'}${mark}` : broken ? 'cut' : '…'
  const tone = failed ? 'error' : end !== undefined && (end.status ?? 0) >= 400 ? 'warn' : 'success'
  const clock = width >= 30 && time !== '' ? `${time} ` : ''
  const middle = Math.max(0, width - cellsOf(clock) - 6)
  return [
    span(clock, 'dim'),
    span(pad([method, about, path].filter(part => part !== '').join(' '), middle)),
    span(pad(status, 5, 'right'), tone),
    span(key === marked ? '*' : ' ', 'info'),
  ]
}
