import { equalsIgnoreCase } from './ignore-case.ts'

/**
 * HTTP header fields as received: original spelling, duplicates and order. The array is the one Node provides and
 * accepts, so an unmodified list costs nothing; the first write copies it.
 */
export class HeaderList {
  #raw: readonly string[]
  #owned: boolean

  constructor(raw: readonly string[] = [], owned = false) {
    this.#raw = raw
    this.#owned = owned
  }

  /** Name, value, name, value. Read-only. */
  get raw(): readonly string[] {
    return this.#raw
  }

  /** The first value. `name` is lower case here and in every method. */
  get(name: string): string | undefined {
    const i = this.#find(name, 0)
    return i < 0 ? undefined : this.#raw[i + 1]
  }

  getAll(name: string): string[] {
    const out: string[] = []
    for (let i = this.#find(name, 0); i >= 0; i = this.#find(name, i + 2)) out.push(this.#raw[i + 1] as string)
    return out
  }

  has(name: string): boolean {
    return this.#find(name, 0) >= 0
  }

  append(name: string, value: string): void {
    this.#own().push(name, value)
  }

  /** Replaces every value of `name`, in the place of the first one. */
  set(name: string, value: string): void {
    const lower = name.toLowerCase()
    const first = this.#find(lower, 0)
    if (first < 0) {
      this.append(name, value)
      return
    }
    this.#own()[first + 1] = value
    this.#remove(lower, first + 2)
  }

  delete(name: string): void {
    this.#remove(name.toLowerCase(), 0)
  }

  clear(): void {
    this.#raw = []
    this.#owned = true
  }

  /** Lower-cased names in order, duplicates once. */
  names(): string[] {
    const out = new Set<string>()
    for (let i = 0; i < this.#raw.length; i += 2) out.add((this.#raw[i] as string).toLowerCase())
    return [...out]
  }

  /** A list with the same fields; later writes are independent. */
  copy(): HeaderList {
    this.#owned = false
    return new HeaderList(this.#raw)
  }

  /** In a single pass: removing fields one at a time would shift the rest each time. */
  #remove(name: string, from: number): void {
    const first = this.#find(name, from)
    if (first < 0) return
    const raw = this.#own()
    let to = first
    for (let i = first; i < raw.length; i += 2) {
      const field = raw[i] as string
      if (equalsIgnoreCase(field, name)) continue
      raw[to] = field
      raw[to + 1] = raw[i + 1] as string
      to += 2
    }
    raw.length = to
  }

  #own(): string[] {
    if (!this.#owned) {
      this.#raw = this.#raw.slice()
      this.#owned = true
    }
    return this.#raw as string[]
  }

  #find(name: string, from: number): number {
    const raw = this.#raw
    for (let i = from; i < raw.length; i += 2) {
      const field = raw[i] as string
      if (equalsIgnoreCase(field, name)) return i
    }
    return -1
  }
}
