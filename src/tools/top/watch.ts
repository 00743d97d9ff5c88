import { Failure } from '../../diagnostics/failure.ts'
import { systemClock } from '../../engine/clock.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { type AdminServer, getBytes, notAnAdminServer } from '../admin/admin-client.ts'
import { ExpositionReader } from './exposition.ts'
import type { Rates } from './rates.ts'
import { addLook, EMPTY, type Look } from './state.ts'

export interface WatchOptions {
  /** Interval in ms between samples. */
  readonly interval: number
  /** ms between the first two samples; `interval` when unset. */
  readonly first?: number
  readonly clock?: Clock
}

/** Timeout in ms. Shorter than elsewhere, since people are watching. */
const REPLY_TIMEOUT = 5000

/** Samples the metrics of an admin server; see `watchMetrics`. */
export function watchGateway(admin: AdminServer, options: WatchOptions, signal?: AbortSignal): AsyncGenerator<Look> {
  const patience = { ms: admin.patience ?? REPLY_TIMEOUT, clock: options.clock ?? systemClock }
  const read = async (until: AbortSignal) => {
    const text = String(await getBytes(admin, 'metrics', { signal: until, patience }))
    if (text === '' || /^# TYPE /m.test(text)) return text
    throw notAnAdminServer(admin, 'metrics', 'answered with something else than metrics')
  }
  return watchMetrics(read, options, signal)
}

/**
 * Takes samples until `signal` aborts, then throws its reason. A Failure of `read` is yielded as a sample, since the
 * gateway may come back, except the first time, when it is thrown.
 */
export async function* watchMetrics(
  read: (signal: AbortSignal) => Promise<string>,
  { interval, first = interval, clock = systemClock }: WatchOptions,
  signal: AbortSignal = new AbortController().signal,
): AsyncGenerator<Look> {
  const exposition = new ExpositionReader()
  for (let turn = 0; ; turn++) {
    let look: Look
    // The gateway counts until the request arrives, however long the response takes.
    const [at, time] = [clock.mono(), clock.now()]
    try {
      const samples = exposition.read(await read(signal))
      look = { at, time, samples }
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof Failure) || turn === 0) throw error
      look = { at, lost: error }
    }
    yield look
    await pause(turn === 0 ? first : interval, clock, signal)
  }
}

/** Rates between samples, for programs. Throws the Failure if the gateway goes away. */
export async function* measuredRates(looks: AsyncGenerator<Look>): AsyncGenerator<{ readonly time: string } & Rates> {
  let state = EMPTY
  for await (const look of looks) {
    if ('lost' in look) throw look.lost
    state = addLook(state, look)
    if (state.measured && state.rates !== undefined) yield { time: new Date(look.time).toISOString(), ...state.rates }
  }
}

/** One measurement, which takes `interval` ms. Throws a Failure. */
export async function measureOnce(admin: AdminServer, interval: number): Promise<{ readonly time: string } & Rates> {
  for await (const rates of measuredRates(watchGateway(admin, { interval }))) return rates
  throw new Failure('unreachable', `${admin.name} reports no metrics.`)
}

async function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = clock.after(ms, resolve)
  const stop = () => resolve()
  signal.addEventListener('abort', stop)
  await promise
  signal.removeEventListener('abort', stop)
  timer.cancel()
  signal.throwIfAborted()
}
