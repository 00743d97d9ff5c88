import type { Path } from '../../../diagnostics/diagnostic.ts'
import type { Fields, Resource } from '../../resources/resource.ts'
import type { From } from './origins.ts'

/**
 * The specs of resources as the translation reads them: each object knows where it was written, and which fields were
 * never looked at shows what was not carried over.
 */
export class Tracker {
  readonly #from = new WeakMap<object, From>()
  readonly #views = new WeakMap<object, object>()
  readonly #read = new Map<Resource, Set<string>>()
  readonly #specs = new Map<Resource, Fields>()

  spec(resource: Resource): Fields {
    const known = this.#specs.get(resource)
    if (known) return known
    this.#read.set(resource, new Set())
    const spec = resource.raw.spec
    const view = this.#view((isObject(spec) ? spec : {}) as object, { resource, path: ['spec'] }) as Fields
    this.#specs.set(resource, view)
    return view
  }

  /** Where an object of a tracked spec was written. */
  from(view: unknown): From | undefined {
    return isObject(view) ? this.#from.get(view) : undefined
  }

  /** Plain data of a tracked part; all of it counts as read. */
  plain(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(item => this.plain(item))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.plain(item)]))
  }

  /** Leaves of a spec that nothing has read. */
  unread(resource: Resource): Path[] {
    const read = this.#read.get(resource) ?? new Set<string>()
    const found: Path[] = []
    const visit = (value: unknown, path: Path): void => {
      if (isObject(value) && Object.keys(value).length > 0) {
        for (const [key, item] of Object.entries(value)) {
          visit(item, [...path, Array.isArray(value) ? Number(key) : key])
        }
      } else if (!read.has(path.join('\0'))) found.push(path)
    }
    if (isObject(resource.raw.spec)) visit(resource.raw.spec, ['spec'])
    return found
  }

  #view(target: object, from: From): object {
    const known = this.#views.get(target)
    if (known) return known
    const read = this.#read.get(from.resource)!
    const view = new Proxy(target, {
      get: (object, key, receiver) => {
        const value: unknown = Reflect.get(object, key, receiver)
        if (typeof key === 'symbol' || !Object.hasOwn(object, key) || (Array.isArray(object) && key === 'length')) {
          return value
        }
        const path = [...from.path, Array.isArray(object) ? Number(key) : key]
        if (isObject(value) && Object.keys(value).length > 0) return this.#view(value, { ...from, path })
        read.add(path.join('\0'))
        return isObject(value) ? this.#view(value, { ...from, path }) : value
      },
    })
    this.#views.set(target, view)
    this.#from.set(view, from)
    return view
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
