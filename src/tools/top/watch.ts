import { setTimeout as sleep } from 'node:timers/promises'
import { getBytes } from '../admin-client.ts'
import { parseExposition } from './exposition.ts'
import { type Rates, ratesOf } from './rates.ts'

/** What goes on, once every `interval` ms, until `signal` aborts. Throws a Failure `unreachable`. */
export async function* watchRates(admin: URL, interval: number, signal?: AbortSignal): AsyncGenerator<Rates> {
  const look = async () => ({
    samples: parseExposition((await getBytes(admin, 'metrics')).toString()),
    at: performance.now(),
  })
  let before = await look()
  for (;;) {
    await sleep(interval, undefined, signal ? { signal } : {}).catch(() => {})
    if (signal?.aborted) return
    const now = await look()
    yield ratesOf(before.samples, now.samples, (now.at - before.at) / 1000)
    before = now
  }
}
