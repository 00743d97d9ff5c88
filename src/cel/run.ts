import { randomUUID } from 'node:crypto'
import type { Chance } from '../runtime/runtime.ts'
import { CelFailure } from './failure.ts'

const NO_VARIABLES: Readonly<Record<string, unknown>> = {}

/** Maximum steps per evaluation: elements iterated, and equivalent work on large values. */
const STEP_BUDGET = 100_000

/**
 * Evaluation state shared by the functions of one compiler. Evaluation is synchronous and never nested, so one instance
 * serves every expression of the compiler.
 */
export class Run {
  readonly chance: Chance
  /** Whether the result guards something: then only missing values count as absent, and no failure is tolerated. */
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

  /** Releases everything referenced by the evaluation. */
  end(): void {
    this.#variables = NO_VARIABLES
    this.#parsed = undefined
  }

  /** Logical operators absorb errors, so this is checked again when the expression has finished. */
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

  /** `read(from)`, once per evaluation for the same body. */
  once(from: unknown, read: () => unknown): unknown {
    const known = this.#parsed
    if (known && known.from === from) return known.value
    const value = read()
    this.#parsed = { from, value }
    return value
  }
}
