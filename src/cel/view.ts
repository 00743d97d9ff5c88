/** Stands for a body that is there, and that nobody has read. */
export const UNREAD = Symbol('unread')

/**
 * An object whose declared fields are read from somewhere else when an expression asks. The library reads a field as
 * a property, and only the names it was told at registration; everything else does not exist for it.
 */
export abstract class View {
  /** The value of a declared field; undefined for any other name. */
  field(name: string): unknown {
    return this.names().includes(name) ? (this as unknown as Record<string, unknown>)[name] : undefined
  }

  /** Names and values of the fields that have one. */
  *entries(): IterableIterator<readonly [string, unknown]> {
    for (const name of this.names()) {
      const value = (this as unknown as Record<string, unknown>)[name]
      if (value !== undefined && value !== UNREAD) yield [name, value]
    }
  }

  protected abstract names(): readonly string[]
}
