import type { DryOutcome } from '../dry-run/dry-run.ts'
import type { TestFile } from '../test-file/test-file.ts'
import { countReached, type Reached } from './reached.ts'

/** What all requests of a file came to. */
export class Witness {
  readonly reached: Reached = new Map()
  /** What was called and had no stub. */
  readonly unstubbed = new Set<string>()
  readonly #called = new Set<string>()

  see({ events, upstream }: DryOutcome): void {
    countReached(events, this.reached)
    for (const { stub, names } of upstream) {
      if (stub !== undefined) this.#called.add(stub)
      else if (names[0] !== undefined) this.unstubbed.add(names[0])
    }
  }

  /** Stubs that answered nothing. */
  uncalled({ stubs = {}, cases }: TestFile): readonly string[] {
    const names = [stubs, ...cases.map(each => each.stubs ?? {})].flatMap(each => Object.keys(each))
    return [...new Set(names)].filter(name => !this.#called.has(name))
  }
}
