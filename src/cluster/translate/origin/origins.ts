import { valueAt } from '../../../config/compile-context.ts'
import type { Path } from '../../../diagnostics/diagnostic.ts'
import type { Resource } from '../../resources/resource.ts'

/** A part of a resource; the path starts at the resource. */
export interface From {
  readonly resource: Resource
  readonly path: Path
}

/** Maps each part of the translated file to the part of a resource that it comes from. */
export class Origins {
  readonly #objects = new Map<object, From>()
  readonly #fields = new Map<object, Map<string | number, From>>()

  mark<T extends object>(value: T, from: From): T {
    this.#objects.set(value, from)
    return value
  }

  field(holder: object, key: string | number, from: From): void {
    const fields = this.#fields.get(holder) ?? new Map<string | number, From>()
    fields.set(key, from)
    this.#fields.set(holder, fields)
  }

  /** The origin of the object or field itself. Undefined if it only inherits one. */
  own(holder: object, key: string | number, value: unknown): From | undefined {
    return this.#fields.get(holder)?.get(key) ?? (isObject(value) ? this.#objects.get(value) : undefined)
  }

  /** The most specific known origin of `path`. */
  at(root: unknown, path: Path): From | undefined {
    let at: unknown = root
    let known = isObject(root) ? this.#objects.get(root) : undefined
    for (const step of path) {
      if (!isObject(at)) return known
      const next: unknown = (at as Record<string | number, unknown>)[step]
      known = this.own(at, step, next) ?? (known && deeper(known, step))
      at = next
    }
    return known
  }
}

/** A field that has the same name on both sides is located more precisely. */
function deeper(from: From, step: string | number): From {
  const path = [...from.path, step]
  return valueAt(from.resource.raw, path) === undefined ? from : { resource: from.resource, path }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
