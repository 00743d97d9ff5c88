import type { SourceFile } from './source-files.ts'
import type { Violation } from './violation.ts'

/** Top first. An import goes to the same line or to a lower one; ARCHITECTURE.md has the reasons. */
export const LAYERS: readonly (readonly string[])[] = [
  ['commands', 'src/cli', 'src/index.ts'],
  ['src/tools'],
  ['src/engine'],
  ['src/config'],
  ['src/policies', 'src/backends'],
  ['src/llm', 'src/mcp', 'src/auth'],
  ['src/schema', 'src/diagnostics', 'src/cel', 'src/http', 'src/generated'],
]

/** The contracts, the lists, and what several policies are built from: where single policies and backends meet. */
const MEETING_POINTS = [
  'src/policies/policy.ts',
  'src/policies/index.ts',
  'src/policies/parts/access-rules.ts',
  'src/policies/parts/conditional.ts',
  'src/policies/parts/header-changes.ts',
  'src/policies/parts/request-body.ts',
  'src/policies/parts/url-parts.ts',
  'src/policies/parts/credential-location.ts',
  'src/policies/frontend/telemetry.ts',
  'src/policies/upstream/policy-target.ts',
  'src/policies/external/prompt-guard.ts',
  'src/backends/backend.ts',
  'src/backends/index.ts',
  'src/backends/refusing.ts',
  'src/backends/endpoint-health.ts',
  'src/backends/endpoints.ts',
  'src/backends/http-target.ts',
  'src/backends/address-guard.ts',
]

/** Imports that go up, and policies or backends that know one another. Type-only imports count. */
export function checkLayers(files: readonly SourceFile[]): Violation[] {
  const found: Violation[] = []
  for (const file of files) {
    const from = layerOf(file.path)
    if (from === undefined) {
      found.push({ path: file.path, line: 1, message: 'belongs to no layer of LAYERS' })
      continue
    }
    for (const { own, target, line } of file.imports) {
      const to = own ? layerOf(target) : undefined
      if (to === undefined) continue
      if (to < from) found.push({ path: file.path, line, message: `imports ${target}, a layer above` })
      if (knowsNeighbour(file.path, target)) {
        found.push({ path: file.path, line, message: `imports ${target}: policies and backends meet in index.ts only` })
      }
    }
  }
  return found
}

function layerOf(path: string): number | undefined {
  const index = LAYERS.findIndex(layer => layer.some(place => path === place || path.startsWith(`${place}/`)))
  return index === -1 ? undefined : index
}

function knowsNeighbour(path: string, target: string): boolean {
  const from = memberOf(path)
  const to = memberOf(target)
  return from !== undefined && to !== undefined && from !== to
}

/** `src/policies/cors` for the file `cors.ts` and for everything in the folder `cors/`. */
function memberOf(path: string): string | undefined {
  if (MEETING_POINTS.includes(path)) return undefined
  return /^src\/(?:policies|backends)\/[^/]+/.exec(path)?.[0].replace(/\.tsx?$/, '')
}

/** Cycles among modules that load one another at run time, each once, as the chain that closes it. */
export function checkCycles(files: readonly SourceFile[]): Violation[] {
  const edges = new Map(
    files.map(file => [file.path, file.imports.filter(i => i.own && !i.typeOnly).map(i => i.target)]),
  )
  const found: Violation[] = []
  const done = new Set<string>()
  const chain: string[] = []
  const visit = (path: string): void => {
    const start = chain.indexOf(path)
    if (start !== -1) {
      found.push({ path, line: 1, message: `import cycle: ${[...chain.slice(start), path].join(' → ')}` })
      return
    }
    if (done.has(path)) return
    done.add(path)
    chain.push(path)
    for (const next of edges.get(path) ?? []) visit(next)
    chain.pop()
  }
  for (const path of edges.keys()) visit(path)
  return found
}
