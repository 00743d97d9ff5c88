import type { Serving } from '../../engine/passage.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { Target } from '../../http/transport.ts'
import { isObject } from '../../mcp/message.ts'

/**
 * The backends of all routes, with the file's name for each: the name in its `ai`, its only MCP target, its address.
 */
export class BackendNames {
  readonly #written = new Map<object, readonly string[]>()

  constructor({ tables }: Serving) {
    for (const { routes } of tables.keys()) {
      for (const { backends } of routes) {
        for (const { backend, spec } of backends) {
          this.#written.set(backend, written(spec))
        }
      }
    }
  }

  /** The names of the selected backend. */
  of({ backend }: Exchange): readonly string[] {
    return backend ? [...(this.#written.get(backend) ?? []), backend.name] : []
  }
}

function written(spec: unknown): readonly string[] {
  if (typeof spec === 'string') return [spec]
  if (!isObject(spec)) return []
  const { name, provider, targets } = spec
  const [target, ...more] = Array.isArray(targets) ? targets : []
  const only = more.length > 0 ? undefined : target?.name
  return [name, isObject(provider) ? Object.keys(provider)[0] : provider, only].filter(each => typeof each === 'string')
}

/** The names by which stubs for a call of the selected backend are looked up, most specific first. */
export function namesOfCall(target: Target, x: Exchange): readonly string[] {
  const part = target.part?.names.filter(name => name !== ANY_MODEL) ?? []
  const llm = target.part?.kind === 'llm' && x.llm ? [x.llm.requestModel, x.llm.provider] : []
  const own = x.backend ? [x.backend.name] : []
  // Where the file has no name for it, the address is more telling than the position in the file.
  const named = x.backend?.name === x.backend?.key ? [...addressesOf(target), ...own] : [...own, ...addressesOf(target)]
  return [...new Set([...part, ...llm, ...named])]
}

/** The name of a catch-all model. */
const ANY_MODEL = '*'

export function addressesOf({ host, port, unixPath }: Target): readonly string[] {
  return unixPath === undefined ? [`${host}:${port}`, host] : [unixPath]
}
