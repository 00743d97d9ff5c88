import type { SourceFile } from './source-files.ts'
import type { Violation } from './violation.ts'

/** Top first. An import goes to the same line or to a lower one; ARCHITECTURE.md has the reasons. */
export const LAYERS: readonly (readonly string[])[] = [
  ['commands', 'src/cli', 'src/index.ts'],
  ['src/tools'],
  ['src/engine', 'src/cluster'],
  ['src/config'],
  ['src/policies', 'src/backends'],
  ['src/llm', 'src/mcp', 'src/auth', 'src/calls'],
  [
    'src/schema',
    'src/diagnostics',
    'src/cel',
    'src/http',
    'src/protobuf',
    'src/runtime',
    'src/trace',
    'src/files',
    'src/generated',
  ],
]

/** Neighbours of one layer that never import one another. */
const APART: readonly (readonly [string, string])[] = [['src/engine', 'src/cluster']]

/** The contracts, the lists, and what several policies are built from: where single policies and backends meet. */
const MEETING_POINTS = [
  'src/policies/policy.ts',
  'src/policies/index.ts',
  'src/policies/parts/',
  'src/policies/frontend/telemetry.ts',
  'src/policies/upstream/policy-target.ts',
  'src/policies/external/prompt-guard.ts',
  'src/policies/upstream/cluster/backend-auth.ts',
  'src/policies/upstream/cluster/connection.ts',
  'src/backends/backend.ts',
  'src/backends/index.ts',
  'src/backends/refusing.ts',
  'src/backends/endpoint-health.ts',
  'src/backends/endpoints.ts',
  'src/backends/http-target.ts',
  'src/backends/address-guard.ts',
]

/** What several commands use; every other file or folder of src/tools is the room of one command. */
const SHARED_TOOLS = [
  'admin',
  'check',
  'config-dump',
  'curl',
  'dry-run',
  'events',
  'expressions',
  'input',
  'kube-api',
  'terminal',
  'test-file',
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
      if (APART.some(([a, b]) => (isIn(file.path, a) && isIn(target, b)) || (isIn(file.path, b) && isIn(target, a)))) {
        found.push({ path: file.path, line, message: `imports ${target}: the two rooms know nothing of each other` })
      }
      if (entersCommandRoom(file.path, target)) {
        found.push({ path: file.path, line, message: `imports ${target}, the room of one command` })
      }
      if (knowsNeighbour(file.path, target)) {
        found.push({ path: file.path, line, message: `imports ${target}: policies and backends meet in index.ts only` })
      }
    }
  }
  return found
}

function layerOf(path: string): number | undefined {
  const index = LAYERS.findIndex(layer => layer.some(place => isIn(path, place)))
  return index === -1 ? undefined : index
}

function isIn(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`)
}

/** From another room of src/tools: what a second command needs moves to a shared one. */
function entersCommandRoom(path: string, target: string): boolean {
  const from = roomOf(path)
  const to = roomOf(target)
  return from !== undefined && to !== undefined && from !== to && !SHARED_TOOLS.includes(to)
}

/** `trace` for a file of `src/tools/trace/`, `health` for `src/tools/health.ts`. */
function roomOf(path: string): string | undefined {
  return /^src\/tools\/([^/]+)/.exec(path)?.[1]?.replace(/\.tsx?$/, '')
}

function knowsNeighbour(path: string, target: string): boolean {
  const from = memberOf(path)
  const to = memberOf(target)
  return from !== undefined && to !== undefined && from !== to
}

/** `src/policies/cors` for the file `cors.ts` and for everything in the folder `cors/`. */
function memberOf(path: string): string | undefined {
  if (MEETING_POINTS.some(place => path.startsWith(place))) return undefined
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
