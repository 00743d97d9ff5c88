import type { DryOutcome } from '../dry-run/dry-run.ts'
import type { TestFile } from '../test-file/test-file.ts'
import { countReached, type Reached } from './reached.ts'

/** The combined results of all requests of a file. */
export class Witness {
  readonly reached: Reached = new Map()
  /** Services called without a stub. */
  readonly unstubbed = new Set<string>()
  readonly #called = new Set<string>()

  see({ events, upstream }: DryOutcome): void {
    countReached(events, this.reached)
    for (const { stub, names } of upstream) {
      if (stub !== undefined) this.#called.add(stub)
      else if (names[0] !== undefined) this.unstubbed.add(names[0])
    }
  }

  /** Stubs that were never called. */
  uncalled({ stubs = {}, cases }: TestFile): readonly string[] {
    const names = [stubs, ...cases.map(each => each.stubs ?? {})].flatMap(each => Object.keys(each))
    return [...new Set(names)].filter(name => !this.#called.has(name))
  }
}
