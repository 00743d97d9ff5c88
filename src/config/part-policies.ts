import type { BackendContext } from '../backends/backend.ts'
import type { Path } from '../diagnostics/diagnostic.ts'
import type { transformations } from '../policies/transformations.ts'
import type { Infer } from '../schema/builder.ts'
import type { Compilation } from './compile-context.ts'
import type { PolicyCompiler, PolicyLevel } from './compile-policies.ts'
import { assemble } from './pipeline.ts'

type Specs = Readonly<Record<string, unknown>>

/**
 * The policies of a part of a backend (an MCP target, an LLM provider or model), for its compiler to ask for by path.
 * `placeOf` says where a part was written, `targetedAt` which policies aim at the part by its name; `fieldOf` gives a
 * policy's field where it is not called like the policy.
 */
export function partPolicies(
  c: Compilation,
  policies: PolicyCompiler,
  placeOf: (path: Path) => Path,
  identity: string,
  specsAt: (path: Path) => Specs | undefined,
  targetedAt: (section: string) => readonly PolicyLevel[],
  fieldOf?: PolicyLevel['fieldOf'],
): BackendContext['policiesAt'] {
  return (path, section) => {
    const levels = section === undefined ? [] : [...targetedAt(section)]
    const specs = specsAt(path)
    if (specs !== undefined) {
      levels.push({
        specs,
        path: placeOf(path),
        identity: `backend:${identity}/${path.join('/')}`,
        ...(fieldOf ? { fieldOf } : {}),
      })
    }
    if (levels.length === 0) return undefined
    for (const level of levels) reportBodies(level, c)
    const steps = policies.steps(levels, 'backend')
    return { settings: assemble(steps, true).upstream, hooks: steps.map(step => step.hooks) }
  }
}

/** A part is called with a body that its backend has made; only the head is left to change. */
function reportBodies({ specs, path, fieldOf }: PolicyLevel, c: Compilation): void {
  const spec = specs.transformations as Infer<typeof transformations.schema> | undefined
  if (spec === undefined) return
  const at = [...path, fieldOf?.('transformations') ?? 'transformations']
  for (const side of ['request', 'response'] as const) {
    if (spec[side]?.body !== undefined) reportBody([...at, side, 'body'], c)
    for (const [i, entry] of (spec.conditional ?? []).entries()) {
      if (entry[side]?.body !== undefined) reportBody([...at, 'conditional', i, side, 'body'], c)
    }
  }
}

function reportBody(path: Path, c: Compilation): void {
  c.report({
    code: 'GW601',
    message: 'transformations of bodies are not served on a part of a backend',
    path,
    at: 'key',
    label: 'gwctl run refuses to start with this',
    help: 'put them on the route or on the whole backend',
  })
}
