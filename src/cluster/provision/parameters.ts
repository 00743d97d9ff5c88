import { valueAt } from '../../config/compile-context.ts'
import type { Finding, Path } from '../../diagnostics/diagnostic.ts'
import { decode, INVALID } from '../../schema/decode.ts'
import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { type ParametersSpec, parametersSpec } from '../kinds/proxy-parameters.ts'
import { canonical } from '../resources/graph.ts'
import { place, type Resource } from '../resources/resource.ts'
import { type ClusterView, specOf } from '../translate/cluster-view.ts'
import type { Report } from './replica.ts'

/** The combined parameters of a Gateway and its class. */
export class Parameters {
  readonly spec: ParametersSpec
  /** The class, then the Gateway: later levels win. */
  readonly levels: readonly Resource[]
  readonly gateway: Resource
  readonly #report: Report

  constructor(spec: ParametersSpec, levels: readonly Resource[], gateway: Resource, report: Report) {
    this.spec = spec
    this.levels = levels
    this.gateway = gateway
    this.#report = report
  }

  /** The level that sets `path` of the spec; the last one wins. */
  levelOf(path: Path): Resource | undefined {
    return this.levels.findLast(level => valueAt(level.raw, ['spec', ...path]) !== undefined)
  }

  /** Reports a finding at `path` of a level's spec, or on the Gateway if no level sets it. */
  report(finding: Finding, level = this.levelOf(finding.path)): void {
    const from = level ?? this.gateway
    const path = level ? [...from.path, 'spec', ...finding.path] : from.path
    this.#report(place(from, { ...finding, path }))
  }
}

/**
 * Overlays are not part of `spec`: each level has its own. Undefined if the referenced parameters do not exist, so
 * nothing is known.
 */
export function parametersFor(gateway: Resource, cluster: ClusterView, report: Report): Parameters | undefined {
  const className = asText(specOf(gateway).gatewayClassName) ?? ''
  const gatewayClass = cluster.find('GatewayClass', undefined, className)
  const refs: { readonly ref: Fields | undefined; readonly namespace: string | undefined }[] = []
  const classRef = gatewayClass && asFields(specOf(gatewayClass).parametersRef)
  refs.push({ ref: classRef, namespace: asText(classRef?.namespace) })
  refs.push({ ref: asFields(asFields(specOf(gateway).infrastructure)?.parametersRef), namespace: gateway.namespace })
  const levels: Resource[] = []
  for (const { ref, namespace } of refs) {
    if (!ref) continue
    const kind = canonical(asText(ref.kind) ?? '')
    const found = kind === 'ProxyParameters' ? cluster.find(kind, namespace, String(ref.name)) : undefined
    if (!found) return undefined
    levels.push(found)
  }
  const own = refs[1]?.ref && levels.at(-1)
  const merged = merge(levels.map(specOf), own)
  const spec = decode(parametersSpec, merged, [], {
    report: () => {},
    cel: undefined,
    patterns: undefined,
    missing: new Set(),
    dropsNulls: true,
  })
  return spec === INVALID ? undefined : new Parameters(spec, levels, gateway, report)
}

/** Fields that the later level replaces as a whole. */
const REPLACED = ['rawConfig', 'shutdown', 'spiffe'] as const
/** Maps that are merged field by field. */
const BY_FIELD = ['workload', 'logging', 'image', 'istio'] as const
export const OVERLAYS = [
  'deployment',
  'daemonSet',
  'service',
  'serviceAccount',
  'podDisruptionBudget',
  'horizontalPodAutoscaler',
] as const

function merge(levels: readonly Fields[], own: Resource | undefined): Fields {
  const out: Record<string, unknown> = {}
  for (const level of levels) {
    for (const field of REPLACED) if (level[field] != null) out[field] = level[field]
    for (const field of BY_FIELD) {
      if (level[field] != null) out[field] = { ...asFields(out[field]), ...withoutNulls(asFields(level[field])) }
    }
    if (level.resources != null)
      out.resources = mergeResources(asFields(out.resources), asFields(level.resources) ?? {})
    if (level.env != null) {
      const names = asItems(level.env).map(({ name }) => name)
      out.env = [...asItems(out.env).filter(({ name }) => !names.includes(name)), ...asItems(level.env)]
    }
  }
  const catalog = own && specOf(own).modelCatalog
  if (catalog != null) out.modelCatalog = catalog
  return out
}

/** Merged per quantity; an empty map clears, claims are replaced. */
function mergeResources(before: Fields | undefined, now: Fields): Fields {
  const out: Record<string, unknown> = { ...before }
  for (const field of ['limits', 'requests']) {
    const given = asFields(now[field])
    if (given) out[field] = Object.keys(given).length === 0 ? {} : { ...asFields(out[field]), ...withoutNulls(given) }
  }
  if (now.claims != null) out.claims = now.claims
  return out
}

function withoutNulls(fields: Fields = {}): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}
