import { placeText } from '../../diagnostics/diagnostic.ts'
import { collectRequests, type Unreadable } from './recorded-requests.ts'
import type { Recording } from './recording.ts'
import type { RequestTrace, Step } from './state.ts'

/** An entry in Chrome's trace event format; times in microseconds. */
interface TimelineEvent {
  readonly ph: 'M' | 'X' | 'i'
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly ts?: number
  readonly dur?: number
  readonly s?: 't'
  readonly args?: Readonly<Record<string, unknown>>
}

/**
 * A recording as a document for timeline viewers (Perfetto, `chrome://tracing`, speedscope): a process per worker, a
 * row per request, its steps with durations and config lines.
 */
export async function timelineDocument(
  recording: Recording,
  unreadable: Unreadable,
): Promise<{ readonly text: string; readonly requests: number; readonly broken?: unknown }> {
  const { made, ...rest } = await collectRequests(recording, unreadable, request => request)
  const requests = [...made].sort((a, b) => beginOf(a) - beginOf(b))
  const rows = requests.flatMap(rowsOf).map((row, i) => eventsOf(row, i + 1))
  const workers = new Set(requests.map(workerOf))
  // Viewers append the number to the name.
  const names = [...workers].map(pid => named('process_name', pid, 0, 'worker'))
  const lines = [...names, ...rows.flat()].map(event => JSON.stringify(event))
  const text = `{"displayTimeUnit":"ms","traceEvents":[\n${lines.join(',\n')}\n]}\n`
  return { text, requests: requests.length, ...rest }
}

interface TimelineRow {
  readonly request: RequestTrace
  readonly steps: readonly Step[]
  /** The row of the request itself; other rows have what runs concurrently with its steps. */
  readonly first: boolean
}

/** Viewers show nested entries of a row, but drop overlapping ones. */
function rowsOf(request: RequestTrace): TimelineRow[] {
  const rows: { steps: Step[]; open: number[] }[] = [{ steps: [], open: [endOf(request)] }]
  for (const step of [...request.steps].sort(byBeginThenLength)) {
    const { at, from } = step.event
    const row = rows.find(({ open }) => {
      while (open.length > 0 && (open.at(-1) as number) <= (from ?? at)) open.pop()
      return from === undefined || open.length === 0 || at <= (open.at(-1) as number)
    })
    if (row === undefined) rows.push({ steps: [step], open: [at] })
    else {
      row.steps.push(step)
      if (from !== undefined) row.open.push(at)
    }
  }
  return rows.map(({ steps }, i) => ({ request, steps, first: i === 0 }))
}

function byBeginThenLength({ event: a }: Step, { event: b }: Step): number {
  return (a.from ?? a.at) - (b.from ?? b.at) || b.at - a.at
}

function eventsOf({ request, steps, first }: TimelineRow, tid: number): TimelineEvent[] {
  const pid = workerOf(request)
  const name = `${request.method} ${request.path}`
  const begin = beginOf(request)
  const { status, error } = request.end ?? {}
  const outcome = { request: request.id, status, error, lostEvents: request.lost }
  const title = status ? `${name}: ${status}` : name
  return [
    named('thread_name', pid, tid, first ? title : `${title} (beside it)`),
    { ph: 'M', name: 'thread_sort_index', pid, tid, args: { sort_index: tid } },
    ...(first ? [{ ph: 'X', name, pid, tid, ts: begin, dur: endOf(request), args: outcome } as const] : []),
    ...steps.map(step => stepOf(step, pid, tid, begin)),
  ]
}

function workerOf({ steps }: RequestTrace): number {
  return steps[0]?.event.worker ?? 0
}

/** Microseconds since the epoch. */
function beginOf({ steps }: RequestTrace): number {
  const started = steps.find(({ event }) => event.message.type === 'requestStarted')?.event.message
  return started?.type === 'requestStarted' ? Date.parse(started.time) * 1000 : 0
}

/** Microseconds since its start. */
function endOf({ end, steps }: RequestTrace): number {
  return end?.at ?? steps.at(-1)?.event.at ?? 0
}

function stepOf({ event, label, text }: Step, pid: number, tid: number, begin: number): TimelineEvent {
  const { at, from, origins, severity } = event
  const args = { text, severity, at: origins.map(placeText) }
  if (from === undefined) return { ph: 'i', s: 't', name: label, pid, tid, ts: begin + at, args }
  return { ph: 'X', name: label, pid, tid, ts: begin + from, dur: at - from, args }
}

function named(what: 'process_name' | 'thread_name', pid: number, tid: number, name: string): TimelineEvent {
  return { ph: 'M', name: what, pid, tid, args: { name } }
}
