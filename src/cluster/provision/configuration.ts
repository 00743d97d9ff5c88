import { loadSource } from '../../config/load.ts'
import { offlineRuntime } from '../../config/offline-runtime.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import { Origins } from '../translate/origin/origins.ts'
import { sourceOf, TranslatedDocument } from '../translate/origin/translated-document.ts'
import type { Parameters } from './parameters.ts'
import type { Report } from './replica.ts'

/** Where the ConfigMap of a model catalog is mounted. */
const CATALOGS = '/etc/agentgateway/model-catalog'

export interface CatalogSource {
  readonly configMap: string
  readonly key: string
  /** Path in the container. */
  readonly file: string
}

export function catalogsOf({ spec }: Parameters): CatalogSource[] {
  return (spec.modelCatalog?.sources ?? []).flatMap(({ configMap }) =>
    configMap
      ? [
          {
            configMap: configMap.name,
            key: configMap.key,
            file: `${CATALOGS}/${configMap.name}/${configMap.name}.json`,
          },
        ]
      : [],
  )
}

/** The configuration of the replica: `rawConfig`, overridden by the typed fields. */
export function configurationOf(parameters: Parameters): Fields {
  const { rawConfig, logging } = parameters.spec
  const raw = asFields(rawConfig) ?? {}
  const config = { ...asFields(raw.config) }
  if (parameters.levelOf(['logging', 'format']))
    config.logging = { ...asFields(config.logging), format: logging?.format }
  const catalogs = catalogsOf(parameters)
  if (catalogs.length > 0) config.modelCatalog = catalogs.map(({ file }) => ({ file }))
  return { ...raw, config }
}

export function configurationText(configuration: Fields): string {
  return printYaml(configuration)
}

/**
 * Reports what a replica would reject in its configuration, at the fields concerned. `catalog`: the content of the
 * ConfigMap, undefined if unknown.
 */
export async function checkConfiguration(
  configuration: Fields,
  parameters: Parameters,
  catalog: (source: CatalogSource) => Buffer | undefined,
  report: Report,
): Promise<void> {
  const origins = new Origins()
  const raw = parameters.levelOf(['rawConfig'])
  if (raw) origins.mark(configuration, { resource: raw, path: ['spec', 'rawConfig'] })
  const sources = catalogsOf(parameters)
  const own = parameters.levelOf(['modelCatalog'])
  const listed = asFields(configuration.config)?.modelCatalog
  if (own && Array.isArray(listed)) origins.mark(listed, { resource: own, path: ['spec', 'modelCatalog', 'sources'] })
  const file = (raw ?? own ?? parameters.gateway).file
  const { diagnostics } = await loadSource(sourceOf(new TranslatedDocument(configuration, origins, file), file), {
    env: {},
    tier: 'offline',
    runtime: offlineRuntime(),
    readReferenced: path => {
      const source = sources.find(each => each.file === path)
      return source ? (catalog(source) ?? Buffer.from(NO_PRICES)) : { outsideOf: 'the container' }
    },
    advice: false,
  })
  // Mounted files cannot be read here.
  for (const diagnostic of diagnostics) if (diagnostic.code !== 'GW206') report(diagnostic)
}

const NO_PRICES = '{"providers": {}}'

/** The port of a process address. Undefined if it is switched off or has no port. */
export function portOf(
  configuration: Fields,
  field: 'readinessAddr' | 'statsAddr',
  standard: number,
): number | undefined {
  const address = asText(asFields(configuration.config)?.[field])
  if (address === undefined) return standard
  const port = /:(\d+)$/.exec(address)?.[1]
  return port === undefined || address.startsWith('unix:') ? undefined : Number(port)
}
