import type { ReadEvent } from './events.ts'
import { wordsOf } from './steps.ts'

/** The watched requests, in the order they started. */
export interface TraceState {
  readonly requests: readonly RequestTrace[]
  /** Number of older requests that were evicted. */
  readonly forgotten: number
}

export interface RequestTrace {
  /** Unique over workers and streams. */
  readonly key: string
  readonly stream: number
  readonly id: string
  readonly method: string
  readonly url: string
  /** Path and query. */
  readonly path: string
  /** The request in terms of MCP or an LLM: `tools/call echo`, `gpt-5 openAI`; empty for others. */
  readonly about: string
  readonly source: string
  /** Wall clock, `12:30:45`; empty if the start was not seen. */
  readonly time: string
  /** undefined while the request runs, or if its end was not seen. */
  readonly end: { readonly status: number | null; readonly at: number; readonly error: string | undefined } | undefined
  /** The stream ended before the request. */
  readonly broken: boolean
  readonly steps: readonly Step[]
  /** Events lost in transit or dropped here. */
  readonly lost: number
}

export interface Step {
  readonly event: ReadEvent
  readonly label: string
  readonly text: string
}

const MAX_REQUESTS = 1000
const MAX_STEPS = 5000

export const EMPTY: TraceState = { requests: [], forgotten: 0 }

/** `state` updated with `events`, as a copy. */
export function addEvents(state: TraceState, events: readonly ReadEvent[]): TraceState {
  if (events.length === 0) return state
  const changed = new Map<string, RequestTrace>()
  const steps = new Map<string, Step[]>()
  const known = new Map(state.requests.map(request => [request.key, request]))
  for (const event of events) {
    const key = `${event.stream}/${event.worker}/${event.request}`
    const request = changed.get(key) ?? known.get(key) ?? unstarted(key, event)
    const own = steps.get(key) ?? [...request.steps]
    steps.set(key, own)
    const full = own.length >= MAX_STEPS && event.message.type !== 'requestFinished'
    if (!full) own.push({ event, ...wordsOf(event) })
    const told = withEvent(request, event)
    changed.set(key, full ? { ...told, lost: told.lost + 1 } : told)
  }
  for (const [key, request] of changed) known.set(key, { ...request, steps: steps.get(key) ?? [] })
  const newest = events.reduce((most, { stream }) => Math.max(most, stream), 0)
  const requests = [...known.values()].map(request => (request.stream < newest ? broken(request) : request))
  const excess = Math.max(0, requests.length - MAX_REQUESTS)
  return { requests: requests.slice(excess), forgotten: state.forgotten + excess }
}

/** `state` after the end of its stream. */
export function breakOff(state: TraceState): TraceState {
  return { ...state, requests: state.requests.map(broken) }
}

function broken(request: RequestTrace): RequestTrace {
  return request.end === undefined && !request.broken ? { ...request, broken: true } : request
}

/** Regardless of status: gRPC reports failures elsewhere, and a response may be cut off after its head. */
export function hasFailed({ status, error }: NonNullable<RequestTrace['end']>): boolean {
  return status === null || status >= 500 || (status < 400 && error !== undefined)
}

/**
 * The step that explains the outcome: for a failed request, the backend's response if it was passed on, or the first
 * failed step; otherwise the last one.
 */
export function decidingStep({ end, steps: all }: RequestTrace, steps: readonly Step[] = all): Step | undefined {
  if (end === undefined || !(hasFailed(end) || (end.status ?? 0) >= 400)) return steps.at(-1)
  const passedOn = ({ event: { message, scope } }: Step) =>
    message.type === 'callEnd' && message.status === end.status && scope.length === 0
  const answer = end.error === undefined ? steps.findLast(passedOn) : undefined
  return answer ?? steps.find(isCause) ?? steps.at(-1)
}

function isCause({ event }: Step): boolean {
  return event.severity === 'error' && event.message.type !== 'requestFinished'
}

function unstarted(key: string, { request: id, stream }: ReadEvent): RequestTrace {
  return {
    key,
    stream,
    id,
    method: '?',
    url: '',
    path: `request ${id}`,
    about: '',
    source: '',
    time: '',
    end: undefined,
    broken: false,
    steps: [],
    lost: 0,
  }
}

function withEvent(request: RequestTrace, event: ReadEvent): RequestTrace {
  const { message, at } = event
  switch (message.type) {
    case 'requestStarted': {
      const { method, url, source } = message
      return { ...request, method, url, source, path: pathOf(url), time: clockTime(message.time) }
    }
    case 'requestFinished':
      return { ...request, end: { status: message.status, at, error: message.error } }
    case 'snapshot': {
      const { method, url } = message.state
      if (request.url !== '' || method === undefined || url === undefined) return request
      return { ...request, method, url, path: pathOf(url) }
    }
    case 'mcp':
      // A tool's name comes in a later event of the same request.
      if (message.name === undefined && request.about !== '') return request
      return { ...request, about: [message.method, message.name].filter(Boolean).join(' ') }
    case 'a2a':
      return { ...request, about: [message.method, message.state].filter(Boolean).join(' ') }
    case 'llm':
      return { ...request, about: [message.model, message.provider].filter(Boolean).join(' ') }
    case 'dropped':
      return { ...request, lost: request.lost + message.count }
    default:
      return request
  }
}

function pathOf(url: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(.*)$/i.exec(url)?.[1] || url
}

function clockTime(time: string): string {
  return /T(\d\d:\d\d:\d\d)/.exec(time)?.[1] ?? ''
}
