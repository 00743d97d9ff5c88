import type { Path } from '../../diagnostics/diagnostic.ts'
import { asFields, asText } from '../../schema/untyped.ts'
import type { FoundReference } from './collect-references.ts'
import { canonical, type ResourceFinding } from './graph.ts'
import type { Resource } from './resource.ts'

/** A resource whose kind and name are uncertain; it may be one that is missing elsewhere. */
export interface Lost {
  /** Any kind when undefined. */
  readonly kind?: string | undefined
  /** Any name when undefined. */
  readonly name?: string | undefined
}

/**
 * Resources with a mistake in what identifies them: in their metadata, so that their name or namespace may be wrong, or
 * anywhere in a grant.
 */
export function unsure(resources: readonly Resource[]): readonly Lost[] {
  return resources
    .filter(each => hasWrongMetadata(each) || (each.kind.kind === 'ReferenceGrant' && each.mistakes.length > 0))
    .map(({ kind, name }) => ({ kind: kind.kind, name }))
}

/** Whether the reference has a reported mistake: in its text, or in the resource that contains it. */
export function isBlurred({ path }: FoundReference, from: Resource): boolean {
  if (hasWrongMetadata(from)) return true
  // The mistake may be in a neighboring field: the model to request, a second variant.
  const around = typeof path.at(-1) === 'number' ? path : path.slice(0, -1)
  return from.mistakes.some(
    mistake => leadsTo(mistake, path) || leadsTo(around, mistake.slice(0, -1)) || leadsTo(path, mistake),
  )
}

/** Whether the finding is a consequence of a mistake reported elsewhere. */
export function isExplained(finding: ResourceFinding, ref: FoundReference, lost: readonly Lost[]): boolean {
  if (finding.elsewhere?.some(({ resource }) => resource.mistakes.length > 0)) return true
  if (finding.unresolved !== true) return false
  const kind = finding.code === 'GW209' ? 'ReferenceGrant' : canonical(asText(ref.value.kind) ?? ref.refers.kind)
  const name = finding.code === 'GW204' ? asText(ref.value.name) : undefined
  return lost.some(each => (each.kind ?? kind) === kind && (name === undefined || (each.name ?? name) === name))
}

function hasWrongMetadata({ path, mistakes, raw }: Resource): boolean {
  const metadata = [...path, 'metadata']
  return mistakes.some(mistake => leadsTo(metadata, mistake)) || asFields(raw.metadata) === undefined
}

function leadsTo(start: Path, path: Path): boolean {
  return start.length <= path.length && start.every((step, index) => step === path[index])
}
