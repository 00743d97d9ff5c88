import { Failure, type FailureKind } from '../diagnostics/failure.ts'

/** The whole contract with scripts and CI. A format, a flag for colour or a pipe never changes the code. */
const EXIT_CODES = {
  ok: 0,
  /** The reader of our output has seen enough: `gwctl dump | head` is not a failure. */
  readerGone: 0,
  /** Findings at or above `--fail-on`, failed tests, a difference found. */
  findings: 1,
  usage: 2,
  /** Nothing to check, or the input cannot be read. */
  input: 3,
  /** The admin server or the cluster does not answer. */
  unreachable: 4,
  timeout: 5,
  /** Ours, not the user's. */
  bug: 70,
  interrupted: 130,
  terminated: 143,
} as const satisfies Record<FailureKind | 'ok' | 'readerGone' | 'findings' | 'bug', number>

/**
 * What a command reports when it has done its work. `usage`: it was given something it cannot work with, and has said
 * what.
 */
export type Outcome = 'ok' | 'findings' | 'usage'

/** How a command ended: with an outcome, or with whatever it threw. */
export type Ending = { readonly outcome: Outcome | 'readerGone' } | { readonly error: unknown }

/** The only place where an exit code is decided. */
export function exitCodeOf(ending: Ending): number {
  if ('error' in ending) return EXIT_CODES[ending.error instanceof Failure ? ending.error.kind : 'bug']
  return EXIT_CODES[ending.outcome]
}
