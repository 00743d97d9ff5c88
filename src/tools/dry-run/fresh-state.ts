import type { StateStore } from '../../runtime/runtime.ts'

/**
 * A state store that can be reset while compiled objects persist: callers get proxies, which refer to fresh objects
 * after `forget`.
 */
export class FreshState implements StateStore {
  readonly #held = new Map<string, Renewable>()
  readonly #memory = new Map<string, ArrayBuffer>()

  get<T extends object>(key: string, make: () => T): T {
    const held = this.#held.get(key) ?? new Renewable(make)
    this.#held.set(key, held)
    return held.standIn as T
  }

  memory(key: string, bytes: number): ArrayBuffer {
    const held = this.#memory.get(key) ?? new ArrayBuffer(bytes)
    this.#memory.set(key, held)
    return held
  }

  forget(): void {
    for (const held of this.#held.values()) held.renew()
    for (const buffer of this.#memory.values()) new Uint8Array(buffer).fill(0)
  }
}

class Renewable {
  readonly standIn: object
  readonly #make: () => object
  #object: object | undefined

  constructor(make: () => object) {
    this.#make = make
    this.standIn = new Proxy(
      {},
      {
        // Private members exist only on the object itself.
        get: (_, name) => bound(this.#current, Reflect.get(this.#current, name, this.#current)),
        set: (_, name, value) => Reflect.set(this.#current, name, value, this.#current),
        has: (_, name) => Reflect.has(this.#current, name),
        getPrototypeOf: () => Reflect.getPrototypeOf(this.#current),
      },
    )
  }

  renew(): void {
    const old = this.#object
    this.#object = undefined
    if (old && 'close' in old && typeof old.close === 'function') old.close()
  }

  get #current(): object {
    this.#object ??= this.#make()
    return this.#object
  }
}

function bound(to: object, value: unknown): unknown {
  return typeof value === 'function' ? value.bind(to) : value
}
