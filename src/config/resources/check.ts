import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Source } from '../../diagnostics/source.ts'
import type { Engines } from './decode-resources.ts'
import type { Resource } from './resource.ts'
import type { Skipped, Unrolled } from './unroll.ts'

export interface CheckOptions extends Engines {
  /** Names that the input does not hold are no mistake: they become notes. */
  readonly partial: boolean
  /** Each resource by itself: what they refer to is not looked for. */
  readonly alone?: boolean
}

export interface Checked {
  /** In the order of the input; those of the text itself (`Source.diagnostics`) are not among them. */
  readonly diagnostics: readonly Diagnostic[]
  /** Documents that hold something. */
  readonly documents: number
  readonly skipped: readonly Skipped[]
  readonly resources: readonly Resource[]
  /** Made for their expressions, where there were any. */
  readonly engines: Engines
}

/**
 * Checks declarative resources: each by itself, then all together. `source` is read without variables. The kinds load
 * with the first call, so that who only might meet resources does not pay for them.
 */
export async function checkResources(
  inputs: readonly { readonly file: string; readonly source: Source }[],
  options: CheckOptions,
): Promise<Checked> {
  const [{ unroll }, { decodeResources }, { checkReferences }] = await Promise.all([
    import('./unroll.ts'),
    import('./decode-resources.ts'),
    import('./check-references.ts'),
  ])
  const found: Unrolled = { resources: [], diagnostics: [], skipped: [], refused: [], documents: 0 }
  for (const { file, source } of inputs) unroll(file, source, found)
  const diagnostics = [...found.diagnostics]
  const engines: Engines = { cel: options.cel, patterns: options.patterns }
  const resources = await decodeResources(found.resources, engines, diagnostics)
  if (!options.alone) diagnostics.push(...checkReferences(resources, options.partial, found.refused))
  return { diagnostics, documents: found.documents, skipped: found.skipped, resources, engines }
}
