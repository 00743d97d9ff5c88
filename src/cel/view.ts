/**
 * An object whose declared fields are read from somewhere else when an expression asks. The library reads a field as
 * a property, and only the names it was told at registration; everything else does not exist for it.
 */
export abstract class View {
  /** Names and values of the fields that have one. */
  *entries(): IterableIterator<readonly [string, unknown]> {
    for (const name of this.names()) {
      const value = (this as unknown as Record<string, unknown>)[name]
      if (value !== undefined) yield [name, value]
    }
  }

  protected abstract names(): readonly string[]
}
