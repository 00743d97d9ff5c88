/**
 * Keys of the routes of one configuration: `listener/namespace/name`. Further routes with the same name, such as the
 * rules of an HTTPRoute, get the suffix `#2`, `#3`, ….
 */
export class RouteKeys {
  readonly #taken = new Map<string, number>()

  keyOf(listenerKey: string, namespace: string, name: string): string {
    return this.#unique(`${listenerKey}/${namespace}/${name}`)
  }

  #unique(key: string): string {
    const count = (this.#taken.get(key) ?? 0) + 1
    this.#taken.set(key, count)
    return count === 1 ? key : this.#unique(`${key}#${count}`)
  }
}
