import type { HeaderList } from '../http/headers.ts'
import { CelFailure } from './failure.ts'
import { JsonList, REDACTED } from './json-view.ts'

type Shape = 'plain' | 'join' | 'raw' | 'split'

/**
 * Header fields as a map of lower-case names: a string for one entry, a list for several, unless the shape is fixed.
 */
export class HeaderView extends Map<string, unknown> {
  readonly #fields: HeaderList
  readonly #sensitive: ReadonlySet<string>
  readonly #shape: Shape
  readonly #redacted: boolean

  /** `sensitive`: lower-case names of the fields that `redacted()` hides. */
  constructor(fields: HeaderList, sensitive: ReadonlySet<string>, shape: Shape = 'plain', redacted = false) {
    super()
    this.#fields = fields
    this.#sensitive = sensitive
    this.#shape = shape
    this.#redacted = redacted
  }

  override get(name: unknown): unknown {
    if (typeof name !== 'string') return undefined
    let values = this.#fields.getAll(name.toLowerCase())
    if (values.length === 0) return undefined
    if (this.#hides(name.toLowerCase())) values = values.map(() => REDACTED)
    switch (this.#shape) {
      case 'plain':
        return values.length === 1 ? values[0] : new JsonList(values, 0, true)
      case 'join':
        return values.join(',')
      case 'raw':
        return new JsonList(values)
      case 'split':
        return new JsonList(values.flatMap(value => value.split(',').map(part => part.trim())))
    }
  }

  override has(name: unknown): boolean {
    return typeof name === 'string' && this.#fields.has(name.toLowerCase())
  }

  override get size(): number {
    return this.#fields.names().length
  }

  override keys(): MapIterator<string> {
    return this.#fields.names()[Symbol.iterator]() as MapIterator<string>
  }

  override *entries(): MapIterator<[string, unknown]> {
    for (const name of this.#fields.names()) yield [name, this.get(name)]
  }

  override [Symbol.iterator](): MapIterator<[string, unknown]> {
    return this.entries()
  }

  shaped(shape: Shape): HeaderView {
    return new HeaderView(this.#fields, this.#sensitive, shape, this.#redacted)
  }

  redacted(): HeaderView {
    return new HeaderView(this.#fields, this.#sensitive, this.#shape, true)
  }

  /**
   * The first cookie of that name, without surrounding quotes. `only`: a second one with another value is a failure,
   * since a backend may use that one.
   */
  cookie(name: string, only: boolean): string {
    const values = this.#cookies(name)
    const first = values.next().value
    if (first === undefined) throw new CelFailure('no_such_key')
    if (only) for (const other of values) if (other !== first) throw new CelFailure('several_values')
    return this.#hides('cookie') ? REDACTED : first
  }

  *#cookies(name: string): Generator<string, undefined> {
    for (const line of this.#fields.getAll('cookie')) {
      for (const pair of line.split(';')) {
        const at = pair.indexOf('=')
        if (at < 0 || pair.slice(0, at).trim() !== name) continue
        const value = pair.slice(at + 1).trim()
        yield value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
      }
    }
  }

  #hides(name: string): boolean {
    return this.#redacted && this.#sensitive.has(name)
  }
}
