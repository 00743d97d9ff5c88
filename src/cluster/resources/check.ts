import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Source } from '../../diagnostics/source.ts'
import type { Engines } from './decode-resources.ts'
import { labelOf, type Resource } from './resource.ts'
import type { Skipped, Unrolled } from './unroll.ts'

export interface CheckOptions extends Engines {
  /** Missing resources are reported as notes, not mistakes. */
  readonly partial: boolean
  /** Checks each resource by itself, without references. */
  readonly alone?: boolean
  /** Separates resources that are never applied together. Unset: all of the input is one set. */
  readonly partition?: (resources: readonly Resource[]) => readonly ResourceSet[]
}

/** Resources that are applied together. */
export interface ResourceSet {
  /** Distinguishes it from the others. Undefined if there is only one. */
  readonly name: string | undefined
  readonly resources: readonly Resource[]
}

export interface Checked {
  /** In input order, without those of the text itself (`Source.diagnostics`). */
  readonly diagnostics: readonly Diagnostic[]
  /** Number of non-empty documents. */
  readonly documents: number
  readonly skipped: readonly Skipped[]
  readonly resources: readonly Resource[]
  readonly sets: readonly ResourceSet[]
  /** Created if there are expressions. */
  readonly engines: Engines
}

/**
 * Checks declarative resources: each by itself, then all together. `source` is read without variables. The kinds are
 * loaded on the first call, so callers that may not meet any resources do not pay for them.
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
  const sets = options.partition?.(resources) ?? [{ name: undefined, resources }]
  if (!options.alone) {
    const bySet = sets.map(set => checkReferences(set.resources, options.partial, found.refused))
    diagnostics.push(...agreed(sets, bySet))
  }
  return { diagnostics, documents: found.documents, skipped: found.skipped, resources, sets, engines }
}

/**
 * Merges the findings of several sets. A finding about a resource in several sets is kept only if all of them have it:
 * what one set lacks, another one provides.
 */
export function agreed(sets: readonly ResourceSet[], bySet: readonly (readonly Diagnostic[])[]): Diagnostic[] {
  if (sets.length < 2) return bySet.flat()
  const holders = new Map<string, number>()
  for (const { resources } of sets) {
    for (const key of new Set(resources.map(each => `${each.file}\n${labelOf(each)}`))) {
      holders.set(key, (holders.get(key) ?? 0) + 1)
    }
  }
  const found = new Map<string, { readonly d: Diagnostic; readonly name: string | undefined; count: number }>()
  for (const [i, diagnostics] of bySet.entries()) {
    for (const d of diagnostics) {
      const key = JSON.stringify([d.file, d.range.start.offset, d.code, d.message])
      const known = found.get(key)
      if (known) known.count++
      else found.set(key, { d, name: sets[i]!.name, count: 1 })
    }
  }
  return [...found.values()].flatMap(({ d, name, count }) => {
    const among = holders.get(`${d.file}\n${d.resource}`) ?? 1
    return count < among ? [] : [among === 1 ? inSet(d, name) : d]
  })
}

/** Adds the name of the set to a finding. */
function inSet(d: Diagnostic, name: string | undefined): Diagnostic {
  if (name === undefined) return d
  const note = `in the set of \`${name}\``
  return { ...d, note: d.note === undefined ? note : `${d.note}; ${note}` }
}
