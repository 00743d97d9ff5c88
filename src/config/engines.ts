import type { CelCompiler, PatternCompiler } from '../cel/expression.ts'
import type { Term } from '../cel/terms/terms.ts'
import type { Chance } from '../runtime/runtime.ts'

export interface MadeEngines {
  readonly cel?: CelCompiler | undefined
  readonly patterns?: PatternCompiler | undefined
  /** The source of randomness for `random()` and `uuid()` in expressions. */
  readonly chance?: Chance
}

/** What expressions depend on besides their text: settings of the file that are read before anything else. */
export interface CelSettings {
  readonly sensitiveHeaders: readonly string[]
  /** The text of `config.customFunctions`. */
  readonly functions: string
}

/**
 * The compilers of expressions and patterns. They take as long to load as everything else together, so they are created
 * on first use and shared by files that are checked together.
 */
export class Engines {
  readonly #cel = new Map<string, CelCompiler>()
  readonly #chance: Chance | undefined
  #patterns: PatternCompiler | undefined

  /** `made`: engines already created for another part of the same input, with no settings. */
  constructor(made: MadeEngines = {}) {
    this.#chance = made.chance
    if (made.cel) this.#cel.set(keyOf({ sensitiveHeaders: [], functions: '' }), made.cel)
    this.#patterns = made.patterns
  }

  /** The compiler for files with these settings, if it has been created. */
  cel(settings: CelSettings): CelCompiler | undefined {
    return this.#cel.get(keyOf(settings))
  }

  /** Undefined if no file has contained an expression so far. */
  termOf(text: string): Term | undefined {
    const [any] = this.#cel.values()
    return any?.termOf(text)
  }

  get patterns(): PatternCompiler | undefined {
    return this.#patterns
  }

  async make(missing: ReadonlySet<'cel' | 'patterns'>, settings: CelSettings): Promise<void> {
    if (missing.has('cel')) {
      const { createCelCompiler } = await import('../cel/compiler.ts')
      this.#cel.set(keyOf(settings), createCelCompiler({ ...settings, ...(this.#chance && { chance: this.#chance }) }))
    }
    if (missing.has('patterns')) this.#patterns = (await import('../cel/pattern.ts')).createPatternCompiler()
  }
}

function keyOf({ sensitiveHeaders, functions }: CelSettings): string {
  return `${sensitiveHeaders.join()}\n${functions}`
}
