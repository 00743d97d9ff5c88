import type { Origin, Path } from '../diagnostics/diagnostic.ts'
import type { AnyPolicy } from '../policies/fields.ts'
import { trafficPolicies } from '../policies/index.ts'
import { type Compilation, contextFor, valueAt } from './compile-context.ts'
import type { Step } from './snapshot.ts'

/** A `policies` object at one level, the widest level first in every list of them. */
export interface PolicyLevel {
  readonly specs: Readonly<Record<string, unknown>>
  readonly path: Path
  readonly identity: string
  /** The field that holds a policy, where it is not the policy's name. */
  readonly fieldOf?: (policy: string) => string
}

export type PolicyUse = 'request' | 'backend'

/**
 * The effective policies of one place: per policy the narrowest level wins, but rules that accumulate are merged over
 * all levels. One policy object compiles once, so two routes under it share its state.
 */
export class PolicyCompiler {
  readonly #compiled = new Map<unknown, Step>()
  readonly #c: Compilation

  constructor(c: Compilation) {
    this.#c = c
  }

  steps(levels: readonly PolicyLevel[], use: PolicyUse, list: readonly AnyPolicy[] = trafficPolicies): Step[] {
    const out: Step[] = []
    for (const policy of list) {
      if (policy.unserved !== undefined) continue
      const holders = levels.filter(level => level.specs[policy.name] !== undefined && wanted(policy, level, use))
      if (holders.length > 0) out.push(this.#step(policy, holders))
    }
    return out
  }

  #step(policy: AnyPolicy, holders: readonly PolicyLevel[]): Step {
    const narrowest = holders.at(-1)!
    if (holders.length === 1) return this.#one(policy, narrowest, narrowest.specs[policy.name], holders)
    if (!policy.merge) {
      const overridden = holders.slice(0, -1).map(holder => this.#c.document.origin(placeOf(policy, holder)))
      return { ...this.#one(policy, narrowest, narrowest.specs[policy.name], [narrowest]), overridden }
    }
    const specs = holders.map(level => level.specs[policy.name])
    return this.#one(policy, narrowest, specs.reduce(policy.merge), holders)
  }

  #one(policy: AnyPolicy, level: PolicyLevel, spec: unknown, holders: readonly PolicyLevel[]): Step {
    const known = this.#compiled.get(spec)
    if (known) return known
    const path = placeOf(policy, level)
    const hooks = policy.compile(spec, contextFor(this.#c, spec, path, `${level.identity}/${policy.name}`))
    const origins: Origin[] = holders.map(holder => this.#c.document.origin(placeOf(policy, holder)))
    const step: Step = { policy: policy.name, hooks, spec: valueAt(this.#c.redacted, path), origins }
    this.#compiled.set(spec, step)
    return step
  }
}

function placeOf(policy: AnyPolicy, { path, fieldOf }: PolicyLevel): Path {
  return [...path, fieldOf ? fieldOf(policy.name) : policy.name]
}

function wanted(policy: AnyPolicy, level: PolicyLevel, use: PolicyUse): boolean {
  const atBackend = level.identity.startsWith('backend:')
  return use === 'backend' ? atBackend || policy.perBackend === true : !atBackend && policy.perBackend !== true
}
