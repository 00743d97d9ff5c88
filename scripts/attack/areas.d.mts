import type { Arena } from './arena.mjs'

/** One attack, as a row of the table in SECURITY.md and of `npm run attack`. */
export interface Attack {
  /** What the attacker does: one clause that starts with a noun, in Markdown. Unique. */
  readonly name: string
  /** What holds against it: one clause, in Markdown. */
  readonly defends: string
  /**
   * Carries the attack out against the real product. Resolves to the figure to print (`'20 of 20 refused'`), or to
   * `{ skipped: reason }` where this machine lacks something; rejects on a breach (`arena.holds`). What it starts
   * through the arena is stopped after it; a gateway that has died by then is a breach as well.
   */
  run(arena: Arena): Promise<string | { readonly skipped: string }>
}

export interface Area {
  readonly title: string
  readonly attacks: readonly Attack[]
}

export const AREAS: readonly Area[]
