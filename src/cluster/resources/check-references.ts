import type { Diagnostic, RelatedPlace } from '../../diagnostics/diagnostic.ts'
import { checkApiKeys } from './api-keys.ts'
import { checkClassParameters } from './class-parameters.ts'
import { collectReferences, type FoundReference, type Known } from './collect-references.ts'
import { reportCycles } from './cycles.ts'
import { isBlurred, isExplained, type Lost, unsure } from './explained.ts'
import { type ReportResource, type ResourceFinding, ResourceGraph } from './graph.ts'
import { resolveBackend } from './resolve-backend.ts'
import { resolveData } from './resolve-data.ts'
import { resolveModel } from './resolve-model.ts'
import { resolveParent } from './resolve-parent.ts'
import { resolveParameters, resolveSelector, resolveTarget } from './resolve-target.ts'
import { place, type Resource } from './resource.ts'

type Resolve = (ref: FoundReference, from: Resource, graph: ResourceGraph, report: ReportResource) => void

const RESOLVERS: Readonly<Record<FoundReference['refers']['to'], Resolve>> = {
  backend: resolveBackend,
  parent: resolveParent,
  target: resolveTarget,
  selector: resolveSelector,
  data: resolveData,
  model: resolveModel,
  parameters: resolveParameters,
}

/**
 * Checks references between the resources. With `partial`, missing ones are only notes. Consequences of a mistake that
 * was already reported, in a resource or one that was `refused`, are not reported again.
 */
export function checkReferences(
  resources: readonly Resource[],
  partial: boolean,
  refused: readonly Lost[] = [],
): Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  const report: ReportResource = finding => diagnostics.push(toDiagnostic(finding, partial))
  const graph = new ResourceGraph(resources, report)
  const lost = [...refused, ...unsure(resources)]
  const known: Known = new Map()
  const references = new Map(resources.map(resource => [resource, collectReferences(resource, known)]))
  for (const [from, found] of references) {
    for (const ref of found) {
      if (isBlurred(ref, from)) continue
      RESOLVERS[ref.refers.to](ref, from, graph, finding => {
        if (!isExplained(finding, ref, lost)) report(finding)
      })
    }
  }
  reportCycles(references, graph, report)
  checkApiKeys(graph, report)
  checkClassParameters(graph, report)
  return diagnostics
}

function toDiagnostic(finding: ResourceFinding, partial: boolean): Diagnostic {
  const { resource, unresolved, outOfSight, elsewhere = [], ...rest } = finding
  const hint = outOfSight && !partial ? ['pass `--partial` to allow names that are not in the input'] : []
  const note = [...(rest.note === undefined ? [] : [rest.note]), ...hint].join('; ')
  const diagnostic = place(resource, note === '' ? rest : { ...rest, note })
  const related = elsewhere.map(({ resource: other, path, message }): RelatedPlace => {
    const { file, range } = other.document.resolve({ code: finding.code, message, path, at: 'value' })
    return { message, file, range }
  })
  return {
    ...diagnostic,
    ...(unresolved && partial ? { severity: 'info' as const } : {}),
    related: [...diagnostic.related, ...related],
  }
}
