import { randomUUID } from 'node:crypto'
import type { Chance } from '../runtime/runtime.ts'
import { CelFailure } from './failure.ts'

const NO_VARIABLES: Readonly<Record<string, unknown>> = {}

/** Steps one evaluation may take: elements iterated, and work on large values by the same measure. */
const STEP_BUDGET = 100_000

/**
 * What the functions of one compiler share while an expression runs. Evaluation is synchronous and never nested, so
 * one of these serves every expression of the compiler.
 */
export class Run {
  readonly chance: Chance
  /** Whether the result guards something: then only what is not there counts as absent, and no failure is passed over. */
  guards = false
  #left = 0
  #spent = false
  #variables: Readonly<Record<string, unknown>> = NO_VARIABLES
  #parsed: { readonly from: unknown; readonly value: unknown } | undefined

  constructor(chance: Chance = { random: Math.random, uuid: randomUUID }) {
    this.chance = chance
  }

  begin(variables: Readonly<Record<string, unknown>>, guards = false): void {
    this.guards = guards
    this.#left = STEP_BUDGET
    this.#spent = false
    this.#variables = variables
  }

  /** Lets go of everything that the evaluation touched. */
  end(): void {
    this.#variables = NO_VARIABLES
    this.#parsed = undefined
  }

  /** Logical operators absorb errors, so this is asked once more when the expression has finished. */
  get spent(): boolean {
    return this.#spent
  }

  charge(steps: number): void {
    this.#left -= steps
    if (this.#left >= 0) return
    this.#spent = true
    throw new CelFailure('budget')
  }

  variables(): ReadonlyMap<string, unknown> {
    return new Map(Object.entries(this.#variables))
  }

  /** `read(from)`, done once per evaluation for the same body. */
  once(from: unknown, read: () => unknown): unknown {
    const known = this.#parsed
    if (known && known.from === from) return known.value
    const value = read()
    this.#parsed = { from, value }
    return value
  }
}
