import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Source } from '../../diagnostics/source.ts'
import { checkReferences } from '../resources/check-references.ts'
import { decodeResources, type Engines } from '../resources/decode-resources.ts'
import type { Resource } from '../resources/resource.ts'
import { type Skipped, type Unrolled, unroll } from '../resources/unroll.ts'
import type { Faults } from './work.ts'

export interface Gathered {
  /** Those that an API server would accept. */
  readonly resources: readonly Resource[]
  readonly faults: Faults
  readonly diagnostics: readonly Diagnostic[]
  readonly skipped: readonly Skipped[]
  readonly documents: number
}

/** Decodes resources and drops those that an API server would reject. Invalid expressions are rejected only by us. */
export async function gather(
  inputs: readonly { readonly file: string; readonly source: Source }[],
  options: Engines & { readonly partial: boolean },
): Promise<Gathered> {
  const found: Unrolled = { resources: [], diagnostics: [], skipped: [], refused: [], documents: 0 }
  for (const { file, source } of inputs) unroll(file, source, found)
  const diagnostics = [...found.diagnostics]
  const faults = new Map<Resource, string[]>()
  const resources: Resource[] = []
  const engines: Engines = { cel: options.cel, patterns: options.patterns }
  for (const written of found.resources) {
    const own: Diagnostic[] = []
    const [resource] = await decodeResources([written], engines, own)
    diagnostics.push(...own)
    const errors = own.filter(({ severity }) => severity === 'error')
    if (!resource || errors.some(({ code }) => !code.startsWith('GW3'))) {
      found.refused.push({ kind: written.kind.kind, name: written.name })
      continue
    }
    if (errors.length > 0)
      faults.set(
        resource,
        errors.map(({ path, message }) => `${path.replace(/^spec\./, '')}: ${message}`),
      )
    resources.push(resource)
  }
  diagnostics.push(...checkReferences(resources, options.partial, found.refused))
  return { resources, faults, diagnostics, skipped: found.skipped, documents: found.documents }
}
