import { untilAborted, untilQuit } from '../terminal/leaving.ts'
import { showView, type Terminal } from '../terminal/view.tsx'
import type { Surroundings } from './browse.ts'
import { TopSession } from './session.ts'
import type { Look } from './state.ts'

export interface InteractiveOptions extends Surroundings {
  readonly terminal: Terminal
  /** Aborted with a Failure when the process should stop. */
  readonly signal: AbortSignal
}

/**
 * Shows samples until the user quits. The terminal is taken over with the first sample and always restored; then throws
 * the error of the samples, or a Failure `interrupted`.
 */
export async function browseTop(
  watch: (signal: AbortSignal) => AsyncGenerator<Look>,
  options: InteractiveOptions,
): Promise<void> {
  const session = new TopSession(options)
  const left = new AbortController()
  const looks = watch(AbortSignal.any([options.signal, left.signal]))
  const first = await looks.next()
  if (first.done !== true) session.add(first.value)
  const view = showView(session, options.terminal)
  try {
    await Promise.race([untilQuit(session), view.ended, untilAborted(options.signal), pump(looks, session)])
  } finally {
    left.abort()
    await view.close()
  }
}

/** Ends only with an error. */
async function pump(looks: AsyncGenerator<Look>, session: TopSession): Promise<void> {
  for await (const look of looks) session.add(look)
  await untilQuit(session)
}
