import type { Backend } from '../../backends/backend.ts'
import type { Serving } from '../../engine/passage.ts'
import { isObject } from '../../mcp/message.ts'

/** What the file calls each backend of a route: the name in its `ai` or `service`, its only MCP target, its address. */
export type BackendNames = ReadonlyMap<object, readonly string[]>

export function backendNames({ tables }: Serving): BackendNames {
  const names = new Map<Backend, readonly string[]>()
  for (const { routes } of tables.keys()) {
    for (const { backends } of routes) for (const { backend, spec } of backends) names.set(backend, written(spec))
  }
  return names
}

function written(spec: unknown): readonly string[] {
  if (typeof spec === 'string') return [spec]
  if (!isObject(spec)) return []
  const { name, provider, targets } = spec
  const [target, ...more] = Array.isArray(targets) ? targets : []
  const found = [
    name,
    isObject(provider) ? Object.keys(provider)[0] : provider,
    more.length > 0 ? undefined : target?.name,
  ]
  return found.filter(each => typeof each === 'string')
}
