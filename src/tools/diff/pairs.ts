import type { Part } from './parts.ts'

/** The correspondence between objects of both sides. */
export interface Pairs {
  readonly both: readonly Pair[]
  readonly removed: readonly Part[]
  readonly added: readonly Part[]
}
export interface Pair {
  readonly before: Part
  readonly after: Part
  /** Equal except for its name. */
  readonly renamed: boolean
}

/**
 * Pairs objects by name; those without a name, or whose name is gone, by content. Of the rest, unnamed objects are
 * paired by condition, or else by position.
 */
export function pairParts(before: readonly Part[], after: readonly Part[], contents: Contents): Pairs {
  const work = new Work(before, after)
  const contentOf = (part: Part) => contents.of(part)
  work.pair(part => (part.named ? [part.kind, part.name, contentOf(part)] : undefined))
  work.pair(part => (part.named ? [part.kind, part.name] : undefined))
  // A policy is identified by its name, even if others have the same content.
  work.pair(part => (part.kind === 'policy' && part.named ? undefined : [part.kind, contentOf(part)]))
  work.pair(part => (part.kind === 'route' ? [part.kind, stableText(part.written)] : undefined))
  work.pair(part => (part.named ? undefined : [part.kind, ...conditionsOf(part)]))
  work.pair(part => (part.named ? undefined : [part.kind, part.name]))
  work.pairOnly('bind')
  work.pairOnly('listener')
  return work.pairs()
}

class Work {
  readonly #both: Pair[] = []
  readonly #order: ReadonlyMap<Part, number>
  #before: readonly Part[]
  #after: readonly Part[]

  constructor(before: readonly Part[], after: readonly Part[]) {
    this.#order = new Map(before.map((part, i) => [part, i]))
    this.#before = before
    this.#after = after
  }

  /** Pairs objects with equal `key`, in order. */
  pair(key: (part: Part) => readonly string[] | undefined): void {
    if (this.#before.length === 0 || this.#after.length === 0) return
    const waiting = new Map<string, Part[]>()
    for (const part of this.#after) {
      const text = key(part)?.join('\0')
      if (text === undefined) continue
      const list = waiting.get(text)
      if (list) list.push(part)
      else waiting.set(text, [part])
    }
    for (const list of waiting.values()) list.reverse()
    const taken = new Map<Part, Part>()
    for (const part of this.#before) {
      const text = key(part)?.join('\0')
      const found = text === undefined ? undefined : waiting.get(text)?.pop()
      if (found) taken.set(part, found)
    }
    this.#take(taken)
  }

  /** If one of a kind remains on each side, they are paired. */
  pairOnly(kind: Part['kind']): void {
    const [before, ...more] = this.#before.filter(part => part.kind === kind)
    const [after, ...others] = this.#after.filter(part => part.kind === kind)
    if (before && after && more.length + others.length === 0) this.#take(new Map([[before, after]]))
  }

  pairs(): Pairs {
    const at = ({ before }: Pair) => this.#order.get(before) ?? 0
    return { both: this.#both.toSorted((a, b) => at(a) - at(b)), removed: this.#before, added: this.#after }
  }

  #take(taken: ReadonlyMap<Part, Part>): void {
    const found = new Set(taken.values())
    for (const [before, after] of taken) {
      const renamed = before.name !== after.name && (before.named || after.named)
      this.#both.push({ before, after, renamed })
    }
    this.#before = this.#before.filter(part => !taken.has(part))
    this.#after = this.#after.filter(part => !found.has(part))
  }
}

/** The full content of objects, without their names. Cached, since each is compared at several levels. */
export class Contents {
  readonly #known = new WeakMap<Part, string>()

  of(part: Part): string {
    const known = this.#known.get(part)
    if (known !== undefined) return known
    const inside = part.parts.map(each => `${each.kind}${each.named ? each.name : ''}${this.of(each)}`).sort()
    const made = [stableText(part.written), ...inside].join('\u0001')
    this.#known.set(part, made)
    return made
  }
}

/** Independent of key order. */
export function stableText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableText).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = value as Readonly<Record<string, unknown>>
  const entries = Object.keys(fields)
    .filter(key => fields[key] !== undefined && fields[key] !== null)
    .sort()
    .map(key => `${JSON.stringify(key)}:${stableText(fields[key])}`)
  return `{${entries.join()}}`
}

/** Identifies an object without a name. */
function conditionsOf({ kind, written }: Part): readonly string[] {
  const { hostnames, matches, hostname } = written as Readonly<Record<string, unknown>>
  return kind === 'route'
    ? [stableText(hostnames), stableText(matches)]
    : kind === 'listener'
      ? [stableText(hostname)]
      : ['']
}
