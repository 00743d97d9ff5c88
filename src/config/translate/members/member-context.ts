import { asFields, asItems, asText, type Fields, type Resource } from '../../resources/resource.ts'
import { addressesOf, resolveRef } from '../backend-refs.ts'
import { fileOf, SecretReader } from '../secrets.ts'
import type { Work } from '../work.ts'
import { nameOf } from '../world.ts'

/** A standalone policy made of a member; undefined where nothing is left of it. */
export type Policies = Record<string, unknown>

/** What converting the members of one policy, backend or model needs. */
export class MemberContext {
  readonly work: Work
  readonly holder: Resource
  readonly errors: string[]
  readonly secrets: SecretReader

  constructor(work: Work, holder: Resource, errors: string[] = []) {
    this.work = work
    this.holder = holder
    this.errors = errors
    this.secrets = new SecretReader(work, holder, errors)
  }

  lose(part: unknown, message: string): void {
    this.work.lose(this.work.from(part, this.holder), message)
  }

  /**
   * `{host}` or `{backend}` of the service that a policy calls. Undefined, and an error of the holder, when it does not
   * exist. `what`: how the error begins.
   */
  target(spec: Fields, what: string): Fields | undefined {
    const url = asText(spec.url)
    if (url !== undefined) return { host: url.replace(/^(https?:\/\/[^/]+)\/.*$/, '$1') }
    const ref = asFields(spec.backendRef)
    if (!ref) return undefined
    const to = resolveRef(ref, this.holder, this.work)
    switch (to.kind) {
      case 'Service': {
        const addresses = addressesOf(to, this.work)
        if (addresses.length > 1)
          this.lose(ref, `one of ${addresses.length} endpoints of Service ${to.namespace}/${to.name} is called`)
        return { host: addresses[0] }
      }
      case 'ProxyBackend':
        return { backend: nameOf(to.backend) }
      case 'InferencePool':
        this.lose(ref, `InferencePool ${nameOf(to.pool)} cannot be called by a policy`)
        return undefined
      case 'problem':
        this.errors.push(`${what}: ${to.condition.message}`)
        return undefined
      default:
        this.errors.push(`${what}: a backendRef of kind ${String(ref.kind)} cannot be called`)
        return undefined
    }
  }

  /** The path in `url`, if it has one. */
  urlPath(spec: Fields): string | undefined {
    return /^https?:\/\/[^/]+(\/.+)$/.exec(asText(spec.url) ?? '')?.[1]
  }

  /** The path of a data entry of a Secret or ConfigMap, told as lost when files cannot be referred to. */
  file(part: unknown, resource: Resource, key: string): string | undefined {
    const before = this.errors.length
    const path = this.secrets.file(resource, key)
    if (path === undefined && this.errors.length === before) {
      this.lose(part, `${resource.kind.kind} ${nameOf(resource)}, key ${key}, has to be a file: pass --files-dir DIR`)
    }
    return path
  }
}

export { fileOf }

/** Copies fields under other names; an undefined one is left out. */
export function pick(spec: Fields, names: Readonly<Record<string, string>>): Policies {
  const out: Policies = {}
  for (const [from, to] of Object.entries(names)) if (spec[from] !== undefined) out[to] = spec[from]
  return out
}

/** `[{name, value}]` → `{name: value}`. */
export function byName(items: unknown, value: 'value' | 'expression' = 'value'): Policies | undefined {
  const entries = asItems(items).map(item => [String(item.name ?? item.field), item[value]] as const)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** Leaves out what is undefined. */
export function defined(fields: Readonly<Record<string, unknown>>): Policies {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export function lower<T>(value: T): T | string {
  return typeof value === 'string' ? `${value[0]!.toLowerCase()}${value.slice(1)}` : value
}

export function strings(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.map(String) : undefined
}
