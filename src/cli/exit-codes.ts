import { Failure, type FailureKind } from '../diagnostics/failure.ts'

/** The whole contract with scripts and CI. Output formats, colour flags and pipes never change the code. */
const EXIT_CODES = {
  ok: 0,
  /** The reader closed the pipe: `gwctl dump | head` is not a failure. */
  readerGone: 0,
  /** Findings at or above `--fail-on`, failed tests, a difference found. */
  findings: 1,
  usage: 2,
  /** Nothing to check, or unreadable input. */
  input: 3,
  /** The admin server or the cluster is unreachable. */
  unreachable: 4,
  timeout: 5,
  /** A bug in gwctl. */
  bug: 70,
  interrupted: 130,
  terminated: 143,
} as const satisfies Record<FailureKind | 'ok' | 'readerGone' | 'findings' | 'bug', number>

/** The result of a command that completed. `usage`: its input was unusable, which it has reported. */
export type Outcome = 'ok' | 'findings' | 'usage'

/** How a command ended: with an outcome, or with an exception. */
export type Ending = { readonly outcome: Outcome | 'readerGone' } | { readonly error: unknown }

/** The only place that decides an exit code. */
export function exitCodeOf(ending: Ending): number {
  if ('error' in ending) return EXIT_CODES[ending.error instanceof Failure ? ending.error.kind : 'bug']
  return EXIT_CODES[ending.outcome]
}
