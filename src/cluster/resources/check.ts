import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Source } from '../../diagnostics/source.ts'
import type { Engines } from './decode-resources.ts'
import { labelOf, type Resource } from './resource.ts'
import type { Skipped, Unrolled } from './unroll.ts'

export interface CheckOptions extends Engines {
  /** Names that the input does not hold are not mistakes: they become notes. */
  readonly partial: boolean
  /** Each resource by itself: what they refer to is not looked for. */
  readonly alone?: boolean
  /** Takes apart what is never applied together; unset: all of the input is one set. */
  readonly partition?: (resources: readonly Resource[]) => readonly ResourceSet[]
}

/** Resources that are applied together. */
export interface ResourceSet {
  /** To tell it from the others; undefined where there is only one. */
  readonly name: string | undefined
  readonly resources: readonly Resource[]
}

export interface Checked {
  /** In the order of the input; those of the text itself (`Source.diagnostics`) are not among them. */
  readonly diagnostics: readonly Diagnostic[]
  /** Documents that hold something. */
  readonly documents: number
  readonly skipped: readonly Skipped[]
  readonly resources: readonly Resource[]
  readonly sets: readonly ResourceSet[]
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
  const sets = options.partition?.(resources) ?? [{ name: undefined, resources }]
  if (!options.alone) {
    const bySet = sets.map(set => checkReferences(set.resources, options.partial, found.refused))
    diagnostics.push(...agreed(sets, bySet))
  }
  return { diagnostics, documents: found.documents, skipped: found.skipped, resources, sets, engines }
}

/**
 * The findings of several sets as those of one input. What is said of a resource that is in several of them holds when
 * each of them says so: what one lacks, another one has.
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

/** Says in which of several sets a finding was made. */
function inSet(d: Diagnostic, name: string | undefined): Diagnostic {
  if (name === undefined) return d
  const note = `in the set of \`${name}\``
  return { ...d, note: d.note === undefined ? note : `${d.note}; ${note}` }
}
