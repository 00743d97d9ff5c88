import type { PartPolicies } from '../backends/backend.ts'
import type { Path } from '../diagnostics/diagnostic.ts'
import type { PolicyCompiler, PolicyLevel } from './compile-policies.ts'
import { assemble } from './pipeline.ts'

type Specs = Readonly<Record<string, unknown>>

/**
 * The policies of a part of a backend (an MCP target, an LLM provider or model), for its compiler to ask for by path.
 * `placeOf` says where a part was written; `fieldOf` gives a policy's field where it is not called like the policy.
 */
export function partPolicies(
  policies: PolicyCompiler,
  placeOf: (path: Path) => Path,
  identity: string,
  specsAt: (path: Path) => Specs | undefined,
  fieldOf?: PolicyLevel['fieldOf'],
): (path: Path) => PartPolicies | undefined {
  return path => {
    const specs = specsAt(path)
    if (specs === undefined) return undefined
    const level = {
      specs,
      path: placeOf(path),
      identity: `backend:${identity}/${path.join('/')}`,
      ...(fieldOf ? { fieldOf } : {}),
    }
    const steps = policies.steps([level], 'backend')
    return { settings: assemble(steps, true).upstream, hooks: steps.map(step => step.hooks) }
  }
}
