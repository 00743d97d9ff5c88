import type { MemoryDownstream } from './memory-downstream.ts'

/** ms of the wall: everything that could still come is in memory. */
const QUIET = 50
/** ms of the wall without an answer: signatures and passwords are verified beside this thread. */
const LONGEST = 20_000

/**
 * Resolves when the response is complete; also when it has begun and says nothing more, as a stream does that stays open
 * for what servers say by themselves, and when no answer comes at all.
 */
export async function untilQuiet(out: MemoryDownstream): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let last = ''
  let since = performance.now()
  const timer = setInterval(() => {
    const now = `${out.state} ${out.size}`
    if (now !== last) since = performance.now()
    else if (performance.now() - since >= (out.state === 'streaming' ? QUIET : LONGEST)) resolve()
    last = now
  }, QUIET)
  await Promise.race([out.ended, promise])
  clearInterval(timer)
}
