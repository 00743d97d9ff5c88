import type { MemoryDownstream } from './memory-downstream.ts'

/** Real ms: everything still to come is in memory. */
const QUIET = 50
/** Real ms without an answer: signatures and passwords are verified off this thread. */
const LONGEST = 20_000

/**
 * Resolves when the response is complete, when it has begun and gone quiet, as a stream for unsolicited messages does,
 * or when no answer comes at all.
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
