import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../diagnostics/failure.ts'
import { type AdminServer, getBytes } from '../admin-client.ts'
import { parseExposition } from './exposition.ts'
import { type Rates, ratesOf } from './rates.ts'

/** One look, or why there was none: a gateway that goes away may come back. */
export type Look = { readonly rates: Rates } | { readonly lost: Failure }

/**
 * What goes on, once every `interval` ms, until `signal` aborts. Throws a Failure `unreachable` when the gateway does not
 * answer at first.
 */
export async function* watchRates(admin: AdminServer, interval: number, signal?: AbortSignal): AsyncGenerator<Look> {
  const look = async () => ({
    samples: parseExposition((await getBytes(admin, 'metrics')).toString()),
    at: performance.now(),
  })
  let before = await look()
  for (;;) {
    await sleep(interval, undefined, signal ? { signal } : {}).catch(() => {})
    if (signal?.aborted) return
    try {
      const now = await look()
      yield { rates: ratesOf(before.samples, now.samples, (now.at - before.at) / 1000) }
      before = now
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      yield { lost: error }
    }
  }
}
