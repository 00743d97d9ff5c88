import type { Failure } from '../../diagnostics/failure.ts'
import type { Sample } from './exposition.ts'
import { type Rates, ratesOf } from './rates.ts'

/** A sample, or the failure to take it. `at`: monotonic ms; `time`: ms since the epoch. */
export type Look = Answer | { readonly at: number; readonly lost: Failure }

interface Answer {
  readonly at: number
  readonly time: number
  readonly samples: readonly Sample[]
}

/** Requests per second of recent samples; undefined for failed ones. */
export type History = readonly (number | undefined)[]

/** Everything known about the gateway. */
export interface TopState {
  readonly last: Answer | undefined
  /** Undefined before the first sample. */
  readonly rates: Rates | undefined
  /** Two samples have been compared: before that, all rates are zero. */
  readonly measured: boolean
  /** By TOTAL for the gateway, by `SECTION NAME` for rows. */
  readonly history: ReadonlyMap<string, History>
  readonly lost: { readonly text: string; readonly since: number; readonly at: number } | undefined
  /** A restart of the gateway was observed. */
  readonly restarted: boolean
}

export const EMPTY: TopState = {
  last: undefined,
  rates: undefined,
  measured: false,
  history: new Map(),
  lost: undefined,
  restarted: false,
}

export const TOTAL = ''
const REMEMBERED = 120

export function addLook(state: TopState, look: Look): TopState {
  if ('lost' in look) {
    const since = state.last?.at ?? look.at
    const history = new Map([...state.history].map(([key, values]) => [key, remember(values, undefined)]))
    return { ...state, history, lost: { text: look.lost.message, since, at: look.at } }
  }
  const { last } = state
  if (last === undefined) return { ...state, last: look, rates: ratesOf(look.samples, look.samples, 1) }
  const fresh = startOf(look) !== startOf(last)
  const elapsed = (look.at - last.at) / 1000
  const rates = fresh
    ? ratesOf([], look.samples, sinceStart(look, elapsed))
    : ratesOf(last.samples, look.samples, elapsed)
  const history = rememberAll(state.history, rates)
  return { last: look, rates, measured: true, history, lost: undefined, restarted: state.restarted || fresh }
}

/** Uptime of the gateway in seconds, if reported. */
export function uptimeOf({ last, rates }: TopState): number | undefined {
  const started = rates?.total.started
  return started === undefined || last === undefined ? undefined : Math.max(0, last.time / 1000 - started)
}

function startOf({ samples }: Answer): number | undefined {
  return samples.find(({ name }) => name === 'process_start_time_seconds')?.value
}

/** After a restart, counters cover only the time since then. */
function sinceStart(look: Answer, elapsed: number): number {
  const up = look.time / 1000 - (startOf(look) ?? 0)
  return up > 0 && up < elapsed ? up : elapsed
}

function rememberAll(history: TopState['history'], { total, routes, models, mcp, a2a, backends }: Rates) {
  const now: (readonly [key: string, requests: number])[] = [
    [TOTAL, total.requests],
    ...routes.map(({ name, requests }) => [`routes ${name}`, requests] as const),
    ...models.map(({ provider, name, requests }) => [`models ${provider}/${name}`, requests] as const),
    ...a2a.map(({ method, state, requests }) => [`a2a ${method} ${state}`, requests] as const),
    ...mcp.map(({ target, item, method, requests }) => [`mcp ${target} ${item} ${method}`, requests] as const),
    ...backends.map(({ name, requests }) => [`backends ${name}`, requests] as const),
  ]
  return new Map(now.map(([key, requests]) => [key, remember(history.get(key) ?? [], requests)]))
}

function remember(values: History, value: number | undefined): History {
  return [...values.slice(-(REMEMBERED - 1)), value]
}
