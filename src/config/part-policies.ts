import type { BackendContext } from '../backends/backend.ts'
import type { Path } from '../diagnostics/diagnostic.ts'
import { policyNamed } from '../policies/index.ts'
import { assemble } from './assemble-pipeline.ts'
import type { Compilation } from './compile-context.ts'
import type { PolicyCompiler, PolicyLevel } from './compile-policies.ts'
import { IDLE_ON_PARTS, reportIdle } from './unserved/transformations.ts'

type Specs = Readonly<Record<string, unknown>>

/**
 * Compiled policies of the parts of a backend (an MCP target, an LLM provider or model), which the backend's compiler
 * looks up by path. `placeOf` gives the location of a part, `targetedAt` the policies that target it by name; `fieldOf`
 * gives a policy's field where it differs from the policy's name, `whole` the policies of the backend itself.
 */
export function partPolicies(
  c: Compilation,
  policies: PolicyCompiler,
  placeOf: (path: Path) => Path,
  identity: string,
  specsAt: (path: Path) => Specs | undefined,
  targetedAt: (section: string) => readonly PolicyLevel[],
  { fieldOf, whole = [] }: { readonly fieldOf?: PolicyLevel['fieldOf']; readonly whole?: readonly PolicyLevel[] } = {},
): BackendContext['policiesAt'] {
  return (path, section) => {
    const levels = section === undefined ? [] : [...targetedAt(section)]
    const specs = specsAt(path)
    if (specs !== undefined) {
      levels.push({
        specs,
        path: placeOf(path),
        on: 'backend',
        identity: `backend:${identity}/${path.join('/')}`,
        ...(fieldOf ? { fieldOf } : {}),
      })
    }
    if (levels.length === 0) return undefined
    for (const level of levels) reportIdle(level, IDLE_ON_PARTS, c)
    const pipeline = assemble(policies.steps([...reaching(whole, levels), ...levels], 'backend'), true)
    return { settings: pipeline.upstream, steps: pipeline }
  }
}

/** The backend's own policies that accumulate with the same policies on its part. */
function reaching(whole: readonly PolicyLevel[], part: readonly PolicyLevel[]): PolicyLevel[] {
  const names = new Set(part.flatMap(({ specs }) => Object.keys(specs)))
  const reaches = (name: string) => names.has(name) && policyNamed.get(name)?.reachesParts === true
  return whole.map(level => ({
    ...level,
    specs: Object.fromEntries(Object.entries(level.specs).filter(([name]) => reaches(name))),
  }))
}
