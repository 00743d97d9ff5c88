/** A body that exists but was not read. */
export const UNREAD = Symbol('unread')

/**
 * An object whose declared fields are computed on access. The library reads a field as a property, and only those
 * registered; for it nothing else exists.
 */
export abstract class View {
  /** The value of a declared field; undefined for any other name. */
  field(name: string): unknown {
    return this.names().includes(name) ? (this as unknown as Record<string, unknown>)[name] : undefined
  }

  /** The fields that have a value. */
  *entries(): IterableIterator<readonly [string, unknown]> {
    for (const name of this.names()) {
      const value = (this as unknown as Record<string, unknown>)[name]
      if (value !== undefined && value !== UNREAD) yield [name, value]
    }
  }

  protected abstract names(): readonly string[]
}
