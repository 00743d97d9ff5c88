/** What each file `NAME.mjs` of this folder exports; `npm run interop:suites` finds it there. */
export interface Suite {
  /** As on the command line: the file's name. */
  readonly name: string
  /** With where it comes from. */
  readonly title: string
  /** What is missing on this machine, as a sentence with the way to get it; undefined when everything is there. */
  needs(): Promise<string | undefined>
  run(): Promise<SuiteOutcome>
}

export interface SuiteOutcome {
  readonly passed: number
  /** Cases that come out differently for a reason that stands in the suite's file. */
  readonly known: readonly SuiteCase[]
  readonly failed: readonly SuiteCase[]
  /** Cases on the list of known differences that pass by now. */
  readonly stale?: readonly string[]
}

export interface SuiteCase {
  readonly case: string
  readonly reason: string
}
