import { keyOf, type Origin, type Path } from '../diagnostics/diagnostic.ts'
import type { AnyPolicy } from '../policies/fields.ts'
import { trafficPolicies } from '../policies/index.ts'
import { type Compilation, contextFor, valueAt } from './compile-context.ts'
import type { PolicyField, Step } from './snapshot.ts'

/** A `policies` object at one level, the widest level first in every list of them. */
export interface PolicyLevel {
  readonly specs: Readonly<Record<string, unknown>>
  readonly path: Path
  /** Where it stands: on a backend it runs for each call. */
  readonly on: 'connection' | 'listener' | 'route' | 'backend'
  readonly identity: string
  /** It names what it is for by a target, and may be for several objects. */
  readonly targeted?: true
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
    if (levels.length === 0) return out
    for (const policy of list) {
      // Most policies are written nowhere.
      if (!levels.some(level => level.specs[policy.name] !== undefined)) continue
      const holders = levels.filter(level => level.specs[policy.name] !== undefined && wanted(policy, level, use))
      if (holders.length > 0) out.push(this.#step(policy, holders))
    }
    return out
  }

  #step(policy: AnyPolicy, holders: readonly PolicyLevel[]): Step {
    const narrowest = holders.at(-1)!
    const own = narrowest.specs[policy.name]
    if (holders.length === 1) return this.#one(policy, narrowest, own, holders)
    if (!policy.merge) {
      const overridden = holders.slice(0, -1).map(holder => this.#c.document.origin(placeOf(policy, holder)))
      const fields = this.#fields(policy, holders, own)
      return { ...this.#one(policy, narrowest, own, [narrowest]), overridden, fields }
    }
    const merged = holders.map(level => level.specs[policy.name]).reduce(policy.merge)
    const spec = holders.map(level => valueAt(this.#c.redacted, placeOf(policy, level))).reduce(policy.merge)
    const fields = this.#fields(policy, holders, merged)
    return { ...this.#one(policy, narrowest, merged, holders), spec, fields }
  }

  /** Who wrote each field that counts in `result`: one level, or all of them where what they write adds up. */
  #fields(policy: AnyPolicy, holders: readonly PolicyLevel[], result: unknown): readonly PolicyField[] {
    const written = holders.map(holder => this.#written(policy, holder))
    const counting = asFields(result)
    const names = new Set(written.flatMap(({ origins }) => [...origins.keys()]))
    return [...names].map(name => {
      const by = written.filter(({ origins }) => origins.has(name))
      const winner = by.findLast(({ fields }) => fields[name] === counting[name])
      const lost = counting[name] === undefined
      const wonBy = lost ? [] : winner === undefined ? by : [winner]
      const origin = ({ origins }: (typeof written)[number]) => origins.get(name)!
      return { name, wonBy: wonBy.map(origin), overridden: by.filter(each => !wonBy.includes(each)).map(origin) }
    })
  }

  /** The fields of one level that stand in the file: defaults have no place of their own there. */
  #written(policy: AnyPolicy, holder: PolicyLevel) {
    const { document } = this.#c
    const path = placeOf(policy, holder)
    const own = keyOf(document.origin(path))
    const fields = asFields(holder.specs[policy.name])
    const origins = new Map<string, Origin>()
    for (const name of Object.keys(fields)) {
      const origin = document.origin([...path, name])
      if (keyOf(origin) !== own) origins.set(name, origin)
    }
    return { fields, origins }
  }

  #one(policy: AnyPolicy, level: PolicyLevel, spec: unknown, holders: readonly PolicyLevel[]): Step {
    const known = this.#compiled.get(spec)
    if (known) return known
    const path = placeOf(policy, level)
    const context = contextFor(this.#c, spec, path, `${level.identity}/${policy.name}`)
    // What is not served is there to be shown: nothing starts with it.
    const hooks = policy.unserved === undefined ? policy.compile(spec, context) : {}
    const origins: Origin[] = holders.map(holder => this.#c.document.origin(placeOf(policy, holder)))
    const step: Step = { policy: policy.name, hooks, spec: valueAt(this.#c.redacted, path), origins }
    this.#compiled.set(spec, step)
    return step
  }
}

/** A spec by its fields; one that is a list has one, its rules. */
function asFields(spec: unknown): Readonly<Record<string, unknown>> {
  if (Array.isArray(spec)) return { rules: spec }
  return typeof spec === 'object' && spec !== null ? (spec as Readonly<Record<string, unknown>>) : {}
}

function placeOf(policy: AnyPolicy, { path, fieldOf }: PolicyLevel): Path {
  return [...path, fieldOf ? fieldOf(policy.name) : policy.name]
}

function wanted(policy: AnyPolicy, level: PolicyLevel, use: PolicyUse): boolean {
  const atBackend = level.on === 'backend'
  return use === 'backend' ? atBackend || policy.perBackend === true : !atBackend && policy.perBackend !== true
}
