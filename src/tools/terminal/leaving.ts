import { Failure } from '../../diagnostics/failure.ts'

/** How the user left. */
export type Quit = 'asked' | 'interrupted'

/** Resolves when the user quits; rejects with a Failure `interrupted` after Ctrl-C. */
export function untilQuit(session: {
  readonly quit: Quit | undefined
  subscribe(listener: () => void): unknown
}): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (session.quit === 'asked') resolve()
      if (session.quit === 'interrupted') reject(new Failure('interrupted', 'stopped by Ctrl-C'))
    }
    session.subscribe(look)
    look()
  })
}

/** Rejects with the reason of the signal. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}
