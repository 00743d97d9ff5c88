import { asFields, asItems, asText, type Fields } from '../../../schema/untyped.ts'
import { canonical } from '../../resources/graph.ts'
import type { Resource } from '../../resources/resource.ts'
import { nameOf, specOf } from '../cluster-view.ts'
import type { GatewayState } from '../listeners.ts'
import type { Entry, Output } from '../output.ts'
import { dataOf } from '../secrets.ts'
import { at, type Work } from '../work.ts'

/**
 * Writes the prices of models that the parameters of Gateways refer to, and returns these parameters. Under `--kube`,
 * they come with the replica's settings.
 */
export function writeModelCatalog(
  gateways: readonly GatewayState[],
  output: Output,
  work: Work,
): ReadonlySet<Resource> {
  const carried = new Set<Resource>()
  if (work.options.live) return carried
  const sources: Entry[] = []
  for (const { gateway } of gateways) {
    const parameters = parametersOf(gateway, work)
    if (parameters === undefined || carried.has(parameters)) continue
    const listed = asItems(asFields(specOf(parameters).modelCatalog)?.sources)
    if (listed.length > 0) carried.add(parameters)
    for (const [i, source] of listed.entries()) {
      const entry = catalogOf(asFields(source.configMap) ?? {}, parameters, i, work)
      if (entry) sources.push(entry)
    }
  }
  if (sources.length > 0) output.config.modelCatalog = sources
  return carried
}

/** Those of a class say nothing of prices. */
function parametersOf(gateway: Resource, { cluster }: Work): Resource | undefined {
  const ref = asFields(asFields(specOf(gateway).infrastructure)?.parametersRef)
  const kind = canonical(asText(ref?.kind) ?? '')
  return kind === 'ProxyParameters' ? cluster.find(kind, gateway.namespace, String(ref?.name)) : undefined
}

function catalogOf(ref: Fields, parameters: Resource, index: number, work: Work): Entry | undefined {
  const from = at(parameters, 'spec', 'modelCatalog', 'sources', index)
  const map = work.cluster.find('ConfigMap', parameters.namespace, String(ref.name))
  const key = asText(ref.key) ?? 'catalog.json'
  const inline = map && dataOf(map, key)?.toString('utf8')
  if (inline !== undefined) return work.origins.mark<Entry>({ inline }, from)
  const missing = map ? `ConfigMap ${nameOf(map)} has no \`${key}\`` : `there is no ConfigMap ${String(ref.name)}`
  if (!(work.options.partial && map === undefined)) work.lose(from, `the prices are unknown: ${missing}`)
  return undefined
}
