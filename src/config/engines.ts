import type { CelCompiler, PatternCompiler } from '../cel/expression.ts'
import type { Term } from '../cel/terms/terms.ts'
import type { Chance } from '../runtime/runtime.ts'

export interface MadeEngines {
  readonly cel?: CelCompiler | undefined
  readonly patterns?: PatternCompiler | undefined
  /** For `random()` and `uuid()` in expressions. */
  readonly chance?: Chance
}

/**
 * The compilers of expressions and patterns. They take as long to load as everything else together, so they are made
 * when a file first needs them; files that are checked together share them.
 */
export class Engines {
  readonly #cel = new Map<string, CelCompiler>()
  readonly #chance: Chance | undefined
  #patterns: PatternCompiler | undefined

  /** `made`: by who has read something else of the same input, where no headers are hidden. */
  constructor(made: MadeEngines = {}) {
    this.#chance = made.chance
    if (made.cel) this.#cel.set('', made.cel)
    this.#patterns = made.patterns
  }

  /** The compiler for files that hide these headers, when it has been made. */
  cel(sensitiveHeaders: readonly string[]): CelCompiler | undefined {
    return this.#cel.get(sensitiveHeaders.join())
  }

  /** Undefined where no file has had an expression so far. */
  termOf(text: string): Term | undefined {
    const [any] = this.#cel.values()
    return any?.termOf(text)
  }

  get patterns(): PatternCompiler | undefined {
    return this.#patterns
  }

  async make(missing: ReadonlySet<'cel' | 'patterns'>, sensitiveHeaders: readonly string[]): Promise<void> {
    if (missing.has('cel')) {
      const { createCelCompiler } = await import('../cel/compiler.ts')
      this.#cel.set(
        sensitiveHeaders.join(),
        createCelCompiler({ sensitiveHeaders, ...(this.#chance && { chance: this.#chance }) }),
      )
    }
    if (missing.has('patterns')) this.#patterns = (await import('../cel/pattern.ts')).createPatternCompiler()
  }
}
