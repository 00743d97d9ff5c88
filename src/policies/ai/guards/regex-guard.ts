import { screenFor } from '../../../cel/pattern.ts'
import {
  ALLOW,
  type Guard,
  type Guarded,
  type Refusal,
  type TextStream,
  type Verdict,
} from '../../../llm/guards/guard.ts'
import { finds, MaskedStream, type MaskRule, maskRule, maskTexts } from '../../../llm/guards/mask.ts'
import type { TextRun } from '../../../llm/guards/texts.ts'
import { type Builtin, builtinRule } from './builtin-patterns.ts'

export interface RegexSpec {
  readonly action: 'mask' | 'reject'
  readonly rules: readonly {
    readonly builtin?: Builtin
    readonly pattern?: { readonly source: string }
    readonly name?: string
  }[]
}

/** A text without any of these cannot match a builtin. */
const BUILTINS_NEED = /[0-9@]/

/** Matches patterns in texts, each rule against what the previous ones left. */
export class RegexGuard {
  readonly #rules: readonly MaskRule[]
  /** Configured patterns, screened in one pass; the builtins are cheaper than that. */
  readonly #patterns: readonly MaskRule[]
  readonly #screen: (text: string) => readonly number[]

  constructor({ rules }: Pick<RegexSpec, 'rules'>) {
    this.#rules = rules.map(({ builtin, pattern, name }, i) =>
      builtin === undefined ? maskRule(name ?? `rules[${i}]`, pattern?.source ?? '', '<masked>') : builtinRule(builtin),
    )
    this.#patterns = this.#rules.filter((_, i) => rules[i]?.builtin === undefined)
    this.#screen = this.#patterns.length === 0 ? () => [] : screenFor(this.#patterns.map(({ search }) => search.source))
  }

  /** If `refusal` is unset, matches are masked. */
  guard(about: Pick<Guard, 'name' | 'origins' | 'scope'>, refusal: Refusal | undefined): Guard {
    return refusal
      ? { ...about, check: guarded => this.#reject(guarded, refusal) }
      : { ...about, check: guarded => this.#mask(guarded), mask: () => this.#stream() }
  }

  #reject({ runs }: Guarded, refusal: Refusal): Verdict {
    for (const { texts } of runs) {
      const rule = this.#found(texts).find(rule => finds(rule, texts))
      if (rule) return { action: 'reject', refusal, rules: [rule.name] }
    }
    return ALLOW
  }

  #mask({ runs }: Guarded): Verdict {
    const masked = new Map<TextRun, readonly string[]>()
    const rules = new Set<string>()
    for (const run of runs) {
      // Read once: some getters join their texts on each access.
      const { texts } = run
      const left = this.#masked(texts, rules)
      if (left !== texts) masked.set(run, left)
    }
    return masked.size === 0 ? ALLOW : { action: 'mask', texts: masked, rules: [...rules] }
  }

  #masked(texts: readonly string[], rules: Set<string>): readonly string[] {
    const found = this.#found(texts)
    let out = texts
    for (const rule of this.#rules) {
      // A mask may match a later rule.
      if (out === texts && !found.includes(rule)) continue
      const masked = maskTexts(rule, out)
      if (masked !== out) rules.add(rule.name)
      out = masked
    }
    return out
  }

  /** The rules that may match somewhere. */
  #found(texts: readonly string[]): readonly MaskRule[] {
    const found = new Set<MaskRule>()
    let builtins = false
    for (const text of texts.length === 1 ? texts : [...texts, texts.join('')]) {
      for (const index of this.#screen(text)) found.add(this.#patterns[index] as MaskRule)
      builtins ||= BUILTINS_NEED.test(text)
    }
    return this.#rules.filter(rule => found.has(rule) || (builtins && !this.#patterns.includes(rule)))
  }

  #stream(): TextStream {
    const streams = this.#rules.map(rule => new MaskedStream(rule))
    return {
      push: text => streams.reduce((left, stream) => stream.push(left), text),
      end: () => streams.reduce((left, stream) => stream.push(left) + stream.end(), ''),
      masked: () => streams.filter(stream => stream.masked).map(({ rule }) => rule.name),
    }
  }
}
