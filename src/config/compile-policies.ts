import { keyOf, type Origin, type Path } from '../diagnostics/diagnostic.ts'
import type { AnyPolicy } from '../policies/fields.ts'
import { trafficPolicies } from '../policies/index.ts'
import { type Compilation, contextFor, valueAt } from './compile-context.ts'
import type { PolicyField, Step } from './snapshot.ts'

/** A `policies` object at one level. Lists of them are ordered widest level first. */
export interface PolicyLevel {
  readonly specs: Readonly<Record<string, unknown>>
  readonly path: Path
  /** Where it is attached. On a backend, it runs for each call. */
  readonly on: 'connection' | 'listener' | 'route' | 'backend'
  readonly identity: string
  /** Attached by a target, and possibly to several objects. */
  readonly targeted?: true
  /** The field that holds a policy, where it differs from the policy's name. */
  readonly fieldOf?: (policy: string) => string
}

export type PolicyUse = 'request' | 'backend'

/**
 * The effective policies of one place. The narrowest level wins per policy, except that rules which accumulate are
 * merged over all levels. A policy object compiles once, so two routes below it share its state.
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
      // Most policies are not configured at any level.
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

  /** The source of each effective field in `result`: one level, or all of them where their values accumulate. */
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

  /** The fields that one level sets explicitly: defaults have no origin of their own. */
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
    // An unserved policy is compiled for display only: nothing starts with it.
    const hooks = policy.unserved === undefined ? policy.compile(spec, context) : {}
    const origins: Origin[] = holders.map(holder => this.#c.document.origin(placeOf(policy, holder)))
    const step: Step = { policy: policy.name, hooks, spec: valueAt(this.#c.redacted, path), origins }
    this.#compiled.set(spec, step)
    return step
  }
}

/** The fields of a spec. A spec that is a list has one field, its rules. */
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
