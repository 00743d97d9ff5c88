import type { Path } from '../../../diagnostics/diagnostic.ts'
import type { Fields } from '../../../schema/untyped.ts'
import type { Resource } from '../../resources/resource.ts'
import type { From } from './origins.ts'

/**
 * The specs of resources as the translation reads them. Each object knows where it was written, and the fields that
 * were never read show what was not carried over.
 */
export class Tracker {
  readonly #from = new Map<object, From>()
  readonly #views = new Map<object, object>()
  /** By the object that holds them. */
  readonly #read = new Map<object, Set<string>>()
  readonly #specs = new Map<Resource, Fields>()

  spec(resource: Resource): Fields {
    const known = this.#specs.get(resource)
    if (known) return known
    const { spec } = resource.raw
    const target: object = isObject(spec) ? spec : {}
    // A YAML alias into another resource's spec.
    const view = (this.#views.get(target) ?? this.#view(target, { resource, path: ['spec'] })) as Fields
    this.#specs.set(resource, view)
    return view
  }

  /** The origin of an object of a tracked spec. */
  from(view: unknown): From | undefined {
    return isObject(view) ? this.#from.get(view) : undefined
  }

  /** Plain data of a tracked part, which counts as read entirely. */
  plain(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(item => this.plain(item))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.plain(item)]))
  }

  /** Leaves of a spec that were never read. */
  unread(resource: Resource): Path[] {
    const found: Path[] = []
    const visit = (value: object, path: Path): void => {
      const read = this.#read.get(value)
      for (const [key, item] of Object.entries(value)) {
        const isLeaf = !isObject(item) || isEmpty(item)
        if (isLeaf && read?.has(key)) continue
        const inside = [...path, Array.isArray(value) ? Number(key) : key]
        if (isLeaf) found.push(inside)
        else visit(item, inside)
      }
    }
    if (isObject(resource.raw.spec)) visit(resource.raw.spec, ['spec'])
    return found
  }

  #view(target: object, from: From): object {
    const read = new Set<string>()
    const view = new Proxy(target, {
      get: (object, key, receiver) => {
        const value: unknown = Reflect.get(object, key, receiver)
        if (typeof key === 'symbol' || !Object.hasOwn(object, key) || (Array.isArray(object) && key === 'length')) {
          return value
        }
        if (!isObject(value)) {
          read.add(key)
          return value
        }
        if (isEmpty(value)) read.add(key)
        const known = this.#views.get(value)
        if (known) return known
        return this.#view(value, { ...from, path: [...from.path, Array.isArray(object) ? Number(key) : key] })
      },
    })
    this.#read.set(target, read)
    this.#views.set(target, view)
    this.#from.set(view, from)
    return view
  }
}

/** Marks fields of a tracked part as read if their values make no difference. */
export function markRead(part: Fields | undefined, ...names: readonly string[]): void {
  if (part) for (const name of names) Reflect.get(part, name)
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false
  return true
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
