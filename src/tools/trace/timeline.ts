import { collectRequests, type Unreadable } from './recorded-requests.ts'
import type { Recording } from './recording.ts'
import type { RequestTrace, Step } from './state.ts'

/** One line of Chrome's trace event format; times in microseconds. */
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
 * A recording as one document for viewers of timelines (Perfetto, `chrome://tracing`, speedscope): a process for each
 * worker, a row for each request, its steps with what they took and the config lines that they are about.
 */
export async function timelineDocument(
  recording: Recording,
  unreadable: Unreadable,
): Promise<{ readonly text: string; readonly requests: number; readonly broken?: unknown }> {
  const { made, ...rest } = await collectRequests(recording, unreadable, (request, row) => rowOf(request, row + 1))
  const workers = new Set(made.flatMap(row => row.map(({ pid }) => pid)))
  const names = [...workers].map(pid => named('process_name', pid, 0, `worker ${pid}`))
  const lines = [...names, ...made.flat()].map(event => JSON.stringify(event))
  return { text: `{"displayTimeUnit":"ms","traceEvents":[\n${lines.join(',\n')}\n]}\n`, requests: made.length, ...rest }
}

function rowOf(request: RequestTrace, tid: number): TimelineEvent[] {
  const pid = request.steps[0]?.event.worker ?? 0
  const name = `${request.method} ${request.path}`
  const started = request.steps.find(({ event }) => event.message.type === 'requestStarted')?.event.message
  const begin = started?.type === 'requestStarted' ? Date.parse(started.time) * 1000 : 0
  const last = request.end?.at ?? request.steps.at(-1)?.event.at ?? 0
  const { status, error } = request.end ?? {}
  const outcome = { request: request.id, status, error, lostEvents: request.lost }
  return [
    named('thread_name', pid, tid, name),
    { ph: 'X', name, pid, tid, ts: begin, dur: last, args: outcome },
    ...request.steps.map(step => stepOf(step, pid, tid, begin)),
  ]
}

function stepOf({ event, label, text }: Step, pid: number, tid: number, begin: number): TimelineEvent {
  const { at, from, origins, severity } = event
  const args = { text, severity, at: origins.map(({ file, line }) => `${file}:${line}`) }
  if (from === undefined) return { ph: 'i', s: 't', name: label, pid, tid, ts: begin + at, args }
  return { ph: 'X', name: label, pid, tid, ts: begin + from, dur: at - from, args }
}

function named(what: 'process_name' | 'thread_name', pid: number, tid: number, name: string): TimelineEvent {
  return { ph: 'M', name: what, pid, tid, args: { name } }
}
