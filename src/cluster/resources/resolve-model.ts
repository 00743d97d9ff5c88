import { valueAt } from '../../config/compile-context.ts'
import { asFields, asText } from '../../schema/untyped.ts'
import type { FoundReference } from './collect-references.ts'
import type { ReportResource, ResourceGraph } from './graph.ts'
import { labelOf, type Resource } from './resource.ts'
import { type Named, notFound } from './unresolved.ts'

/** A target of a virtual model: a concrete model of the namespace, by a name that it accepts. */
export function resolveModel(ref: FoundReference, from: Resource, graph: ResourceGraph, report: ReportResource): void {
  const name = asText(ref.value.name)
  if (name === undefined) return
  const to: Named = {
    group: from.group,
    kind: 'ProxyModel',
    kindName: from.kindName,
    namespace: from.namespace ?? '',
    name,
  }
  const model = graph.find('ProxyModel', from.namespace, name)
  if (!model) {
    report(notFound(ref, from, to, graph))
    return
  }
  const at = [...ref.path, 'name']
  const elsewhere = [
    { resource: model, path: [...model.path, 'metadata', 'name'], message: `${labelOf(model)} is declared here` },
  ]
  if (asFields(model.raw.spec)?.virtualModel !== undefined) {
    const message = `${labelOf(model)} is virtual itself: a virtual model chooses among concrete ones`
    report({ resource: from, code: 'GW211', message, path: at, at: 'value', elsewhere })
    return
  }
  const target = ref.path.slice(0, -1)
  const asked = asText(asFields(valueAt(from.document.value, target))?.model)
  const match = asText(asFields(asFields(model.raw.spec)?.match)?.model) ?? name
  if (match.includes('*') && asked === undefined) {
    const message = `${labelOf(model)} matches \`${match}\`: the target must say which \`model\` to ask for`
    report({
      resource: from,
      code: 'GW211',
      message,
      path: [...target, 'model'],
      at: 'parent',
      label: '`model` is missing',
      elsewhere,
    })
    return
  }
  if (asked === undefined || answers(match, asked)) return
  const message = `${labelOf(model)} answers to \`${match}\`, not to \`${asked}\``
  report({ resource: from, code: 'GW211', message, path: [...target, 'model'], at: 'value', elsewhere })
}

function answers(match: string, asked: string): boolean {
  if (match.startsWith('*')) return asked.endsWith(match.slice(1))
  return match.endsWith('*') ? asked.startsWith(match.slice(0, -1)) : asked === match
}
