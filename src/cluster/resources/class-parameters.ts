import { asFields, asText } from '../../schema/untyped.ts'
import { canonical, type ReportResource, type ResourceGraph } from './graph.ts'
import { labelOf, type Resource } from './resource.ts'

/** GW546: settings that require a Gateway's parameters, on those of a GatewayClass. */
export function checkClassParameters(graph: ResourceGraph, report: ReportResource): void {
  const used = new Set(graph.list('Gateway').map(gateway => parametersOf(gateway, graph)))
  for (const gatewayClass of graph.list('GatewayClass')) {
    const parameters = parametersOf(gatewayClass, graph)
    if (parameters === undefined || used.has(parameters)) continue
    if (asFields(parameters.raw.spec)?.modelCatalog === undefined) continue
    report({
      resource: parameters,
      code: 'GW546',
      message: '`modelCatalog` is ignored: only the parameters of a Gateway may have it',
      path: [...parameters.path, 'spec', 'modelCatalog'],
      at: 'key',
      label: 'has no effect',
      help: 'name parameters with it in `spec.infrastructure.parametersRef` of the Gateway',
      elsewhere: [
        {
          resource: gatewayClass,
          path: [...gatewayClass.path, 'spec', 'parametersRef'],
          message: `these are the parameters of ${labelOf(gatewayClass)}`,
        },
      ],
    })
  }
}

function parametersOf(resource: Resource, graph: ResourceGraph): Resource | undefined {
  const spec = asFields(resource.raw.spec)
  const ref = asFields(spec?.parametersRef) ?? asFields(asFields(spec?.infrastructure)?.parametersRef)
  const name = asText(ref?.name)
  if (name === undefined || canonical(asText(ref?.kind) ?? '') !== 'ProxyParameters') return undefined
  return graph.find('ProxyParameters', asText(ref?.namespace) ?? resource.namespace ?? 'default', name)
}
