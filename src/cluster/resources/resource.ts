import type { Diagnostic, Finding, Path } from '../../diagnostics/diagnostic.ts'
import type { SourceDocument } from '../../diagnostics/source.ts'
import { asFields, type Fields } from '../../schema/untyped.ts'
import type { ResourceKind } from '../kinds/resource.ts'

/** A resource as it is written, wherever in a document it stands. */
export interface Written {
  readonly kind: ResourceKind
  /** API group and kind as the document says them. */
  readonly group: string
  readonly kindName: string
  /** Undefined for cluster-wide kinds; `default` when a namespaced resource does not say. */
  readonly namespace: string | undefined
  /** Undefined when it is missing or left to the API server. */
  readonly name: string | undefined
  readonly raw: Fields
  readonly file: string
  readonly document: SourceDocument
  /** Where the resource stands in the document: empty unless it is an item of a list. */
  readonly path: Path
}

/** A resource that has been checked by itself. */
export interface Resource extends Written {
  /** Where it has mistakes, from the document's root. */
  readonly mistakes: readonly Path[]
}

/** `HTTPRoute default/chat`. */
export function labelOf(resource: Written): string {
  const name = resource.name ?? '(no name)'
  return `${resource.kindName} ${resource.namespace === undefined ? name : `${resource.namespace}/${name}`}`
}

/** Gives a finding about a resource its place; paths lead from the document's root. */
export function place(resource: Written, finding: Finding): Diagnostic {
  const diagnostic = resource.document.resolve(finding)
  const template = diagnostic.template ?? builtFrom(resource)
  return { ...diagnostic, ...(template === undefined ? {} : { template }), resource: labelOf(resource) }
}

/** The file that kustomize has read the resource from, where it was told to say so (`buildMetadata`). */
function builtFrom({ raw }: Written): string | undefined {
  const origin = asFields(asFields(raw.metadata)?.annotations)?.['config.kubernetes.io/origin']
  return typeof origin === 'string' ? /^path:[ \t]*(\S.*?)[ \t]*$/m.exec(origin)?.[1] : undefined
}
