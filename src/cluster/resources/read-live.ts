import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { decodeResources, type Engines } from './decode-resources.ts'
import type { Resource, Written } from './resource.ts'
import { salvaged } from './salvage.ts'

export interface LiveReading {
  /** Undefined if the object is invalid. */
  readonly resource?: Resource
  /** Mistakes of what is served all the same. */
  readonly faults?: readonly string[]
  /** Why it is invalid. */
  readonly refused?: readonly string[]
}

/** The API server has validated kinds of other projects; in ours it cannot check expressions. */
export async function readLive(written: Written, engines: Engines): Promise<LiveReading> {
  if (!written.kind.own) return { resource: { ...written, mistakes: [] } }
  const found: Diagnostic[] = []
  const [resource] = await decodeResources([written], engines, found)
  const errors = found.filter(({ severity }) => severity === 'error')
  if (resource && errors.length === 0) return { resource }
  const faults = errors.map(({ path, message }) => `${path.replace(/^spec\./, '')}: ${message}`)
  const readable = resource && errors.every(({ code }) => code.startsWith('GW3')) ? resource : undefined
  const kept = readable ?? (resource && salvaged(resource))
  return kept ? { resource: kept, faults } : { refused: faults }
}
